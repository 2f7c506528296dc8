// The compile service with AMD's hipRTC, which needs no GPU: good kernels, and inputs that end or exhaust the compiler.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "db/base/error.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"
#include "worker_processes.h"

namespace wavetune::jit {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kernel = "extern \"C\" __global__ void k(float* p) { p[threadIdx.x] = 1; }\n";

std::string numbered(const std::string& source, int number) { return fmt::format("{}// {}\n", source, number); }

/// Twice as many instantiations at each level: minutes and gigabytes.
std::string bomb() {
  return "template <int N, int M> struct S { static constexpr long v = S<N - 1, 2 * M>::v + S<N - 1, 2 * M + 1>::v; "
         "};\n"
         "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
         "constexpr long x = S<24, 1>::v;\n" +
         std::string(kernel);
}

std::string nested_parentheses(int depth) {
  return fmt::format("extern \"C\" __global__ void k(int* p) {{ *p = {}1{}; }}\n", std::string(depth, '('),
                     std::string(depth, ')'));
}

class Hiprtc : public testing::Test {
 protected:
  void SetUp() override {
    const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
    if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
    const char* before = std::getenv("TMPDIR");
    tmpdir_before_ = before == nullptr ? "" : before;
    std::filesystem::create_directory(temporary());
    ::setenv("TMPDIR", temporary().c_str(), 1);
  }
  void TearDown() override {
    if (tmpdir_before_.empty())
      ::unsetenv("TMPDIR");
    else
      ::setenv("TMPDIR", tmpdir_before_.c_str(), 1);
  }

  std::filesystem::path temporary() const { return directory_.path() / "tmp"; }
  CompileOptions options(int workers) const {
    CompileOptions options;
    options.workers = workers;
    options.worker_executable = WAVETUNE_BINARY;
    options.cache_directory = directory_.path() / "cache";
    return options;
  }
  static CompileRequest request(std::string source, std::vector<std::string> options = {"--offload-arch=gfx950"}) {
    return {"hip", std::move(source), std::move(options)};
  }
  /// Files and folders of compiles, the service's own folder left out.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> found;
    for (const auto& item : std::filesystem::directory_iterator(temporary())) {
      if (!item.path().filename().string().starts_with("wavetune-compile-")) found.push_back(item.path().string());
      for (const auto& inner : std::filesystem::directory_iterator(item.path())) found.push_back(inner.path().string());
    }
    return found;
  }

 private:
  process::TemporaryDirectory directory_{"wavetune-hiprtc-test"};
  std::string tmpdir_before_;
};

TEST_F(Hiprtc, CompilesAnOperatorForEachArchitectureWithoutAGpu) {
  CompileService service(options(1));
  for (const std::string arch : {"gfx950", "gfx942"}) {
    const CompileTarget target = compile_target_for_arch(arch);
    EXPECT_EQ(target.arch, arch);
    EXPECT_EQ(target.compiler, "hiprtc");
    EXPECT_FALSE(target.compiler_place.empty());
    const templates::Operator& op = templates::get_operator("rmsnorm");
    const db::Problem problem{"rmsnorm", "bf16", {{"m", 16}, {"n", 6144}, {"residual", 0}}};
    const CompileResult result =
        service.compile(request_for(target, op, problem, op.default_config(problem, target.limits)));
    ASSERT_EQ(db::to_string(result.outcome), "ok") << result.log;
    ASSERT_GT(result.code.size(), sizeof(Elf64_Ehdr));
    Elf64_Ehdr header;
    std::memcpy(&header, result.code.data(), sizeof header);
    EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
    EXPECT_EQ(header.e_machine, 224) << "EM_AMDGPU";
    EXPECT_GT(result.resources.vgpr.value_or(0), 0);
    EXPECT_GT(result.resources.sgpr.value_or(0), 0);
    EXPECT_EQ(result.resources.spills, 0);
  }
  EXPECT_EQ(service.counters().compiled, 2);
  EXPECT_TRUE(left_behind().empty()) << left_behind()[0];
}

TEST_F(Hiprtc, TheSameSourceGivesTheSameBytes) {
  std::vector<std::byte> code[2];
  for (auto& bytes : code) {
    CompileOptions fresh = options(1);
    fresh.cache_directory += fmt::format("-{}", &bytes - code);
    bytes = CompileService(fresh).compile(request(kernel)).code;
  }
  EXPECT_FALSE(code[0].empty());
  EXPECT_EQ(code[0], code[1]);
}

TEST_F(Hiprtc, DiagnosticsNameTheSourceOnly) {
  CompileService service(options(1));
  const CompileResult result = service.compile(request("__global__ void k(float* p) { p[0] = nothing; }\n"));
  EXPECT_EQ(db::to_string(result.outcome), "compile_error");
  EXPECT_THAT(result.log, HasSubstr("kernel.hip:1:38: error: use of undeclared identifier 'nothing'"));
  EXPECT_THAT(result.log, testing::Not(HasSubstr(temporary().string())));
  EXPECT_THAT(result.log, testing::Not(HasSubstr("comgr-")));
}

struct Misleading {
  const char* name;
  std::vector<std::string> options;
  const char* says;
};

TEST_F(Hiprtc, MistakesThatHiprtcDoesNotExplainAreExplained) {
  const Misleading cases[] = {
      {"two architectures: success, with an error in the log",
       {"--offload-arch=gfx950", "--offload-arch=gfx942"},
       "2 --offload-arch options (gfx950, gfx942)"},
      {"unknown architecture: an empty log", {"--offload-arch=gfx999"}, "does not know the architecture 'gfx999'"},
      {"no architecture, no GPU", {"-O3"}, "--offload-arch"},
      {"an option that it names itself", {"--offload-arch=gfx950", "--bogus"}, "unknown argument: '--bogus'"}};
  CompileService service(options(1));
  for (const Misleading& item : cases) {
    const CompileResult result = service.compile(request(kernel, item.options));
    EXPECT_EQ(db::to_string(result.outcome), "compile_error") << item.name;
    EXPECT_THAT(result.log, HasSubstr(item.says)) << item.name;
    EXPECT_TRUE(result.code.empty()) << item.name;
  }
}

struct Crash {
  const char* name;
  std::string source;
  std::vector<std::string> options;
  const char* says;
};

TEST_F(Hiprtc, AnInputThatEndsTheCompilerCostsItsOwnSlotOnly) {
  const Crash cases[] = {
      {"nested parentheses", nested_parentheses(2000), {"--offload-arch=gfx950"}, "the compiler died: signal 11"},
      {"-ftime-report", kernel, {"--offload-arch=gfx950", "-ftime-report"}, "the compiler died: signal 11"},
      {"-mllvm",
       kernel,
       {"--offload-arch=gfx950", "-mllvm", "-nonsense"},
       "Unknown command line argument '-nonsense'"}};
  CompileService service(options(2));
  std::vector<std::shared_future<CompileResult>> crashing;
  std::vector<std::shared_future<CompileResult>> good;
  int number = 0;
  for (const Crash& item : cases) {
    crashing.push_back(service.submit(request(item.source, item.options)));
    for (int i = 0; i < 2; ++i) good.push_back(service.submit(request(numbered(kernel, number++))));
  }
  for (std::size_t i = 0; i < crashing.size(); ++i) {
    const CompileResult& result = crashing[i].get();
    EXPECT_EQ(db::to_string(result.outcome), "compile_crash") << cases[i].name << ": " << result.log;
    EXPECT_THAT(result.log, HasSubstr(cases[i].says)) << cases[i].name;
  }
  for (const auto& future : good) EXPECT_EQ(db::to_string(future.get().outcome), "ok") << future.get().log;
  EXPECT_TRUE(left_behind().empty()) << left_behind()[0];
}

TEST_F(Hiprtc, ACompileBombCostsItsOwnSlotOnly) {
  CompileOptions limited = options(2);
  limited.timeout = 6s;
  CompileService service(limited);
  const auto exploding = service.submit(request(bomb()));
  std::this_thread::sleep_for(500ms);
  for (int i = 0; i < 4; ++i) {
    const CompileResult result = service.compile(request(numbered(kernel, i)));
    EXPECT_EQ(db::to_string(result.outcome), "ok") << result.log;
  }
  EXPECT_EQ(exploding.wait_for(0s), std::future_status::timeout) << "the others ran beside it";
  EXPECT_EQ(db::to_string(exploding.get().outcome), "compile_timeout");
  EXPECT_EQ(db::to_string(service.compile(request(numbered(kernel, 9))).outcome), "ok") << "its slot works again";
  EXPECT_TRUE(left_behind().empty()) << left_behind()[0];
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(Hiprtc, TheMemoryLimitEndsABombAndIsNamed) {
  CompileOptions limited = options(1);
  limited.memory_limit_bytes = std::size_t{400} << 20;
  CompileService service(limited);
  const CompileResult result = service.compile(request(bomb()));
  EXPECT_EQ(db::to_string(result.outcome), "compile_crash");
  EXPECT_THAT(result.log, HasSubstr("0.4 GiB")) << result.log;
  EXPECT_EQ(db::to_string(service.compile(request(kernel)).outcome), "ok");
}
#endif

TEST_F(Hiprtc, KillingTheHostLeavesNoWorker) {
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    CompileService service(options(2));
    service.submit(request(bomb()));
    service.submit(request(numbered(bomb(), 2)));
    for (;;) ::pause();
  }
  std::vector<pid_t> found;
  for (int i = 0; i < 500 && found.size() < 2; ++i) {
    std::this_thread::sleep_for(20ms);
    found = test::compile_workers(host);
  }
  std::this_thread::sleep_for(500ms);
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  ASSERT_EQ(found.size(), 2u);
  for (int i = 0; i < 250 && test::alive_in_groups(found) > 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(test::alive_in_groups(found), 0);
}

TEST_F(Hiprtc, OneWorkerServesBothCompilersInTurn) {
  CompileService service(options(1));
  for (const char* device : {"hip", "cpu", "hip"}) {
    CompileRequest made = request(numbered("extern \"C\" __global__ void k(float*) {}\n", device[0]), {});
    made.device = device;
    if (made.device == "hip") made.options = {"--offload-arch=gfx950"};
    const CompileResult result = service.compile(std::move(made));
    // The CPU's prelude is missing here, so that its compiler has something to say; hipRTC is content.
    EXPECT_NE(db::to_string(result.outcome), "compile_crash") << device << result.log;
    EXPECT_EQ(result.outcome == db::Outcome::ok, std::string_view(device) == "hip") << device << result.log;
  }
}

TEST(CompileTarget, AnArchitectureWithoutKernelsIsRefusedByName) {
  try {
    compile_target_for_arch("gfx1201");
    FAIL() << "gfx1201 has no kernels";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("'gfx1201'"));
    EXPECT_THAT(error.what(), HasSubstr("gfx950"));
  }
}

}  // namespace
}  // namespace wavetune::jit
