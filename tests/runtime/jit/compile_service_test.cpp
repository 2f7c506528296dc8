#include "runtime/jit/compile_service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "db/base/error.h"
#include "runtime/hip/provider.h"
#include "runtime/process/subprocess.h"
#include "worker_processes.h"

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
  EXPECT_TRUE(test::compile_workers().empty()) << "a hit needs no worker";
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
  CompileService service(options(2));
  std::vector<std::shared_future<CompileResult>> futures;
  for (int i = 0; i < 8; ++i) futures.push_back(service.submit(request(kernel)));
  for (const auto& future : futures) {
    EXPECT_EQ(&future.get(), &futures[0].get());
    EXPECT_FALSE(future.get().from_cache);
  }
  EXPECT_EQ(service.counters().submitted, 8);
  EXPECT_EQ(service.counters().compiled, 1) << "two workers were free, one compiled";
  EXPECT_EQ(service.counters().shared, 7);
  EXPECT_TRUE(service.compile(request(kernel)).from_cache);
  EXPECT_EQ(service.counters().from_cache, 1);
}

TEST_F(Service, AChangedIncludeIsCompiledAgain) {
  const auto compile = [&](CompileService& service, const char* value) {
    std::ofstream(directory_.path() / "value.h") << "#define VALUE " << value << "\n";
    CompileRequest made = request(
        "#include \"value.h\"\n"
        "struct Params { int* out; };\n"
        "extern \"C\" __global__ __launch_bounds__(64) void k(Params p) { *p.out = VALUE; }\n");
    made.options.push_back("-I" + directory_.path().string());
    return service.compile(std::move(made));
  };
  CompileService service(options());
  const CompileResult one = compile(service, "1");
  const CompileResult two = compile(service, "2");
  ASSERT_EQ(db::to_string(two.outcome), "ok") << two.log;
  EXPECT_FALSE(two.from_cache);
  EXPECT_NE(one.code, two.code);
  EXPECT_EQ(compile(service, "1").code, one.code);
  EXPECT_EQ(service.counters().from_cache, 1);
}

TEST_F(Service, KillingTheHostLeavesNoWorkerAndItsFilesGoWithTheNext) {
  const std::filesystem::path temporary = directory_.path() / "tmp";
  std::filesystem::create_directory(temporary);
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", temporary.c_str(), 1);
  request(kernel);  // what is made once is made before the fork
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    CompileService service(options(2));
    service.submit(request(endless_source()));
    service.submit(request(endless_source() + "// another\n"));
    for (;;) ::pause();
  }
  std::vector<pid_t> found;
  for (int i = 0; i < 500 && found.size() < 2; ++i) {
    std::this_thread::sleep_for(20ms);
    found = test::compile_workers(host);
  }
  std::this_thread::sleep_for(1000ms);  // their compilers are at work: processes of their own
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  ASSERT_EQ(found.size(), 2u);
  for (int i = 0; i < 250 && test::alive_in_groups(found) > 0; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(test::alive_in_groups(found), 0);

  int left = 0;
  for (const auto& item : std::filesystem::directory_iterator(temporary)) {
    ++left;
    std::filesystem::last_write_time(item.path(), std::filesystem::file_time_type::clock::now() - 60s);
  }
  EXPECT_EQ(left, 1);
  {
    CompileService next(options());
    EXPECT_EQ(db::to_string(next.compile(request(kernel)).outcome), "ok");
  }
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
  if (kept.empty())
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(Service, TooLongIsATimeoutAndTheWorkerIsReplaced) {
  CompileOptions limited = options();
  limited.timeout = 1000ms;
  CompileService service(limited);
  EXPECT_EQ(db::to_string(service.compile(request(endless_source())).outcome), "compile_timeout");
  EXPECT_TRUE(test::compile_workers().empty()) << "it was killed";
}

TEST_F(Service, ADeadWorkerFailsOneRequestAndIsReplaced) {
  CompileService service(options());
  const auto future = service.submit(request(endless_source()));
  std::vector<pid_t> found;
  for (int i = 0; i < 200 && found.empty(); ++i) {
    std::this_thread::sleep_for(20ms);
    found = test::compile_workers();
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
  const std::vector<pid_t> found = test::compile_workers();
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
  EXPECT_THROW(running.get(), Error);
  EXPECT_THROW(waiting.get(), Error);
  EXPECT_TRUE(test::compile_workers().empty());
}

TEST_F(Service, GivingUpFailsWhatIsInFlightAndTheServiceGoesOn) {
  CompileService service(options());
  const auto running = service.submit(request(endless_source()));
  const auto waiting = service.submit(request(kernel));
  std::this_thread::sleep_for(200ms);
  service.give_up_all();
  EXPECT_EQ(waiting.wait_for(1s), std::future_status::ready);
  EXPECT_EQ(running.wait_for(1s), std::future_status::ready);
  EXPECT_THROW(running.get(), Error);
  EXPECT_THROW(waiting.get(), Error);
  EXPECT_EQ(db::to_string(service.compile(request(kernel)).outcome), "ok");
}

TEST_F(Service, CallsBackOnceForEachRequestAlsoWhenTheyShareOneResult) {
  std::mutex mutex;
  std::vector<std::string> outcomes;
  const auto note = [&](const std::shared_future<CompileResult>& future) {
    const std::lock_guard lock(mutex);
    try {
      outcomes.emplace_back(db::to_string(future.get().outcome));
    } catch (const Error&) {
      outcomes.emplace_back("given up");
    }
  };
  {
    CompileService service(options());
    service.submit(request(kernel), note);
    service.submit(request(kernel), note);
    service.compile(request(kernel));
    service.submit(request(endless_source()), note);
    service.submit(request(std::string(kernel) + "// waits\n"), note);
  }
  EXPECT_EQ(outcomes, (std::vector<std::string>{"ok", "ok", "given up", "given up"}));
}

TEST_F(Service, AnUnknownDeviceIsAnErrorOfTheCaller) {
  CompileService service(options());
  EXPECT_THROW(service.compile({"abacus", kernel, {}}), Error);
}

}  // namespace
}  // namespace wavetune::jit
