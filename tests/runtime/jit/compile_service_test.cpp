#include "runtime/jit/compile_service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "db/base/error.h"
#include "runtime/hip/provider.h"
#include "runtime/process/subprocess.h"

namespace wavetune::jit {
namespace {

using namespace std::chrono_literals;

constexpr const char* kernel =
    "struct Params { int* out; };\n"
    "extern \"C\" __global__ __launch_bounds__(64) void k(Params p) { p.out[threadIdx.x] = 1; }\n";

/// A source that keeps the compiler busy for minutes: twice as many instantiations at each level.
std::string endless_source() {
  return "template <int N, int M> struct S { static constexpr long v = S<N - 1, 2 * M>::v + S<N - 1, 2 * M + 1>::v; "
         "};\n"
         "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
         "constexpr long x = S<26, 1>::v;\n" +
         std::string(kernel);
}

CompileRequest request(const std::string& source) {
  static const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  return {"cpu", provider->prelude() + source, provider->compile_options(provider->devices().front())};
}

/// Process ids of the compile workers that this process started.
std::vector<pid_t> workers() {
  std::vector<pid_t> found;
  for (const auto& item : std::filesystem::directory_iterator("/proc")) {
    const std::string name = item.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(item.path() / "stat");
    std::ifstream line(item.path() / "cmdline");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const std::string words((std::istreambuf_iterator<char>(line)), {});
    const std::size_t close = text.rfind(')');
    if (close == std::string::npos || words.find("__compile-worker") == std::string::npos) continue;
    char state = 0;
    int parent = 0;
    if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &parent) == 2 && parent == ::getpid())
      found.push_back(std::stoi(name));
  }
  return found;
}

class Service : public testing::Test {
 protected:
  CompileOptions options(int count = 1) {
    CompileOptions options;
    options.workers = count;
    options.worker_executable = WAVETUNE_BINARY;
    options.cache_directory = directory_.path() / "cache";
    return options;
  }
  process::TemporaryDirectory directory_{"wavetune-compile-test"};
};

TEST_F(Service, CompilesOnceAndThenReadsTheCache) {
  std::vector<std::byte> code;
  {
    CompileService service(options());
    const CompileResult result = service.compile(request(kernel));
    ASSERT_EQ(db::to_string(result.outcome), "ok") << result.log;
    EXPECT_FALSE(result.from_cache);
    EXPECT_GT(result.milliseconds, 0);
    code = result.code;
  }
  CompileService service(options());
  const CompileResult result = service.compile(request(kernel));
  EXPECT_TRUE(result.from_cache);
  EXPECT_EQ(result.code, code);
  EXPECT_TRUE(workers().empty()) << "a hit needs no worker";
}

TEST_F(Service, ACompileErrorHasItsLogWithoutTemporaryPaths) {
  CompileService service(options());
  const CompileResult result = service.compile(request("this is not C++\n"));
  EXPECT_EQ(db::to_string(result.outcome), "compile_error");
  EXPECT_NE(result.log.find("error"), std::string::npos) << result.log;
  EXPECT_EQ(result.log.find("/wavetune-compile"), std::string::npos) << result.log;
  EXPECT_TRUE(result.code.empty());
}

TEST_F(Service, IdenticalRequestsInFlightShareOneResult) {
  CompileService service(options());
  const auto first = service.submit(request(kernel));
  const auto second = service.submit(request(kernel));
  EXPECT_EQ(&first.get(), &second.get());
}

TEST_F(Service, TooLongIsATimeoutAndTheWorkerIsReplaced) {
  CompileOptions limited = options();
  limited.timeout = 1000ms;
  CompileService service(limited);
  EXPECT_EQ(db::to_string(service.compile(request(endless_source())).outcome), "compile_timeout");
  EXPECT_TRUE(workers().empty()) << "it was killed";
}

TEST_F(Service, ADeadWorkerFailsOneRequestAndIsReplaced) {
  CompileService service(options());
  const auto future = service.submit(request(endless_source()));
  std::vector<pid_t> found;
  for (int i = 0; i < 200 && found.empty(); ++i) {
    std::this_thread::sleep_for(20ms);
    found = workers();
  }
  ASSERT_EQ(found.size(), 1u);
  std::this_thread::sleep_for(300ms);
  ::kill(-found[0], SIGKILL);
  const CompileResult& result = future.get();
  EXPECT_EQ(db::to_string(result.outcome), "compile_crash");
  EXPECT_NE(result.log.find("signal 9"), std::string::npos) << result.log;
  EXPECT_EQ(db::to_string(service.compile(request(kernel)).outcome), "ok");
}

TEST_F(Service, AWorkerKilledWhileIdleIsReplacedSilently) {
  CompileService service(options());
  EXPECT_EQ(db::to_string(service.compile(request(kernel)).outcome), "ok");
  const std::vector<pid_t> found = workers();
  ASSERT_EQ(found.size(), 1u);
  ::kill(-found[0], SIGKILL);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(db::to_string(service.compile(request(std::string(kernel) + "// again\n")).outcome), "ok");
}

#if !defined(__SANITIZE_ADDRESS__)
/// A source that is small and needs gigabytes: each line doubles the tokens of the one before.
std::string greedy_source() {
  std::string source = "#define A0 1,\n";
  for (int i = 1; i <= 27; ++i) source += fmt::format("#define A{} A{} A{}\n", i, i - 1, i - 1);
  return source + "static const int numbers[] = {A27 0};\n" + kernel;
}

TEST_F(Service, TheMemoryLimitHoldsForTheCompiler) {
  CompileOptions limited = options();
  limited.memory_limit_bytes = std::size_t{512} << 20;
  CompileService service(limited);
  const CompileResult result = service.compile(request(greedy_source()));
  EXPECT_TRUE(result.outcome == db::Outcome::compile_error || result.outcome == db::Outcome::compile_crash)
      << db::to_string(result.outcome) << " " << result.log;
  EXPECT_EQ(db::to_string(service.compile(request(kernel)).outcome), "ok");
}
#endif

TEST_F(Service, TheDestructorEndsACompileInProgress) {
  std::shared_future<CompileResult> running;
  std::shared_future<CompileResult> waiting;
  {
    CompileService service(options());
    running = service.submit(request(endless_source()));
    waiting = service.submit(request(kernel));
    std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(db::to_string(running.get().outcome), "compile_crash");
  EXPECT_THROW(waiting.get(), Error);
  EXPECT_TRUE(workers().empty());
}

TEST_F(Service, AnUnknownDeviceIsAnErrorOfTheCaller) {
  CompileService service(options());
  EXPECT_THROW(service.compile({"abacus", kernel, {}}), Error);
}

}  // namespace
}  // namespace wavetune::jit
