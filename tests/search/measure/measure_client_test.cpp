#include "search/measure/measure_client.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "db/base/error.h"
#include "templates/registry.h"
#include "tests/search/support/checks_code.h"
#include "tests/search/support/planted_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::measure {
namespace {

using namespace test;

class Measuring : public testing::Test {
 protected:
  MeasureResult measure(Fate fate, std::chrono::milliseconds timeout = std::chrono::milliseconds(20'000)) {
    const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
    const db::Config config = planted_config(fate);
    const auto compiled =
        compiler_.compile({"cpu", provider->prelude() + planted_source(planted_operator(), planted_problem(), config),
                           provider->compile_options(provider->devices().front())});
    EXPECT_EQ(compiled.outcome, db::Outcome::ok) << compiled.log;
    if (!client_) {
      MeasureClientOptions options{.device = "cpu", .run_timeout = timeout};
      if (checks_on_device_) options.checks = checks_code(compiler_, *provider);
      client_.emplace(std::move(options));
    }
    MeasureRequest request;
    request.problem = planted_problem();
    request.config = config;
    request.code = compiled.code;
    return client_->measure(request);
  }

  Scratch scratch_;
  jit::CompileService compiler_{scratch_.compile_options()};
  bool checks_on_device_ = false;  ///< as on a GPU
  std::optional<MeasureClient> client_;
};

TEST_F(Measuring, ARightKernelGetsATimeWithItsSamples) {
  const MeasureResult result = measure(good);
  EXPECT_EQ(db::to_string(result.outcome), "ok") << result.error;
  EXPECT_GT(result.median_us, 0);
  EXPECT_GE(result.samples_us.size(), 3u);
  EXPECT_LE(result.max_error, 1);
}

struct Wrong {
  Fate fate;
  db::Outcome outcome;
  const char* says;
};
class MeasuringWrong : public Measuring, public testing::WithParamInterface<std::tuple<Wrong, bool>> {
 protected:
  MeasuringWrong() { checks_on_device_ = std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(
    All, MeasuringWrong,
    testing::Combine(testing::Values(Wrong{wrong_numbers, db::Outcome::wrong, "y[0,0,7]"},
                                     Wrong{leaves_a_hole, db::Outcome::wrong, "y[0,0,999]"},
                                     Wrong{writes_outside, db::Outcome::wrong, "outside operand 'y'"},
                                     Wrong{writes_its_input, db::Outcome::wrong, "input 'x'"},
                                     Wrong{too_many_threads, db::Outcome::resource_limit, "threads"}),
                     testing::Bool()));

TEST_P(MeasuringWrong, IsNamedAndTheProcessGoesOn) {
  const Wrong& wrong = std::get<0>(GetParam());
  const MeasureResult result = measure(wrong.fate);
  EXPECT_EQ(db::to_string(result.outcome), db::to_string(wrong.outcome)) << result.error;
  EXPECT_NE(result.error.find(wrong.says), std::string::npos) << result.error;
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
  EXPECT_EQ(client_->restarts(), 0);
}

/// A product large enough that the device computes its reference, with a store of gemm's kernel as it is or changed.
struct ChangedStore {
  const char* store;
  db::Outcome outcome;
  const char* says;
};
class MeasuringProducts : public Measuring, public testing::WithParamInterface<ChangedStore> {};
INSTANTIATE_TEST_SUITE_P(Stores, MeasuringProducts,
                         testing::Values(ChangedStore{"", db::Outcome::ok, ""},
                                         ChangedStore{"if (row == 5 && col == 0) p.c[row * p.c_row] = "
                                                      "wt::cast<wt::element<cfg::out_dtype>>(9.0f);",
                                                      db::Outcome::wrong, "c[0,5,0] is 9"},
                                         ChangedStore{"if (row == 7 && col == 0) p.c[row * p.c_row] = "
                                                      "wt::cast<wt::element<cfg::out_dtype>>(__builtin_nanf(\"\"));",
                                                      db::Outcome::wrong, "c[0,7,0] is nan"}));

TEST_P(MeasuringProducts, AreHeldToTheDevicesReference) {
  checks_on_device_ = true;
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  const db::Problem problem = db::problem_from_key("gemm/bf16/batch=1,k=512,m=128,n=800");
  const templates::Operator& op = templates::get_operator("gemm");
  MeasureRequest request;
  request.problem = problem;
  request.config = op.default_config(problem, provider->devices().front().limits);
  std::string source = templates::kernel_source(op, problem, request.config);
  const std::string store = "write(p.c + batch * p.c_batch + row * p.c_row + col, v[0], count);";
  const std::size_t at = source.find(store);
  ASSERT_NE(at, std::string::npos);
  source.insert(at + store.size(), GetParam().store);
  const auto compiled =
      compiler_.compile({"cpu", provider->prelude() + source, provider->compile_options(provider->devices().front())});
  ASSERT_EQ(compiled.outcome, db::Outcome::ok) << compiled.log;
  request.code = compiled.code;
  MeasureClientOptions options{.device = "cpu"};
  options.checks = checks_code(compiler_, *provider);
  std::string notes;
  options.warn = [&notes](const std::string& note) { notes += note; };
  client_.emplace(std::move(options));
  const MeasureResult result = client_->measure(request);
  EXPECT_EQ(db::to_string(result.outcome), db::to_string(GetParam().outcome)) << result.error;
  EXPECT_NE(result.error.find(GetParam().says), std::string::npos) << result.error;
  EXPECT_EQ(notes, "") << "device and host agree";
}

TEST_F(Measuring, ACrashIsAFaultAndTheNextOneRunsInANewProcess) {
  const MeasureResult result = measure(crashes);
  EXPECT_EQ(db::to_string(result.outcome), "fault");
  EXPECT_NE(result.error.find("signal"), std::string::npos) << result.error;
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
  EXPECT_EQ(client_->restarts(), 1);
}

TEST_F(Measuring, AHangIsATimeoutAndTheProcessIsReplaced) {
  const MeasureResult result = measure(hangs, std::chrono::milliseconds(3000));
  EXPECT_EQ(db::to_string(result.outcome), "timeout") << result.error;
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
  EXPECT_EQ(client_->restarts(), 1);
}

TEST_F(Measuring, IsGivenUpWhenNobodyWaitsAnyLonger) {
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
  MeasureRequest request;
  request.problem = planted_problem();
  request.config = planted_config(hangs);
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  const auto compiled = compiler_.compile(
      {"cpu", provider->prelude() + planted_source(planted_operator(), request.problem, request.config),
       provider->compile_options(provider->devices().front())});
  request.code = compiled.code;
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - begin; };
  EXPECT_FALSE(client_->measure(request, [&] { return waited() > std::chrono::milliseconds(300); }).has_value());
  EXPECT_LT(waited(), std::chrono::seconds(3));
  EXPECT_EQ(client_->pid(), -1);
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok) << "nothing is given up any more";
}

TEST_F(Measuring, AProcessKilledBetweenTwoConfigurationsIsReplacedSilently) {
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
  ::kill(client_->pid(), SIGKILL);
  ::usleep(100'000);
  EXPECT_EQ(measure(good).outcome, db::Outcome::ok);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(Measuring, UnderTheSanitizerAKernelThatWritesOutsideIsAFaultWithItsReport) {
  ::setenv("WAVETUNE_CPU_SANITIZE", "address", 1);
  const MeasureResult outside = measure(writes_outside, std::chrono::milliseconds(60'000));
  const MeasureResult right = measure(good);
  ::unsetenv("WAVETUNE_CPU_SANITIZE");
  EXPECT_EQ(db::to_string(outside.outcome), "fault") << outside.error;
  EXPECT_NE(outside.error.find("AddressSanitizer: heap-buffer-overflow"), std::string::npos) << outside.error;
  EXPECT_EQ(db::to_string(right.outcome), "ok") << right.error;
}
#endif

/// The kernels of an operator of this build, measured on `device` with its default configuration.
MeasureResult measure_default(const Scratch& scratch, const std::string& device, const std::string& key) {
  const auto provider = hip::load_provider(hip::parse_device_spec(device));
  MeasureRequest request;
  request.problem = db::problem_from_key(key);
  const templates::Operator& op = templates::get_operator(request.problem.op);
  request.config = op.default_config(request.problem, provider->devices().front().limits);
  jit::CompileService compiler(scratch.compile_options());
  const auto compiled =
      compiler.compile({device, provider->prelude() + templates::kernel_source(op, request.problem, request.config),
                        provider->compile_options(provider->devices().front())});
  request.code = compiled.code;
  MeasureClient client({.device = device});
  return client.measure(request);
}

TEST(Collective, IsMeasuredAcrossDevicesAndVerifiedOnEachRank) {
  const Scratch scratch;
  for (const char* key : {"all_reduce/f32/m=3,n=40,ranks=2", "all_reduce/bf16/m=16,n=128,ranks=4"}) {
    const MeasureResult result = measure_default(scratch, "cpu:4", key);
    EXPECT_EQ(db::to_string(result.outcome), "ok") << result.error;
    EXPECT_GT(result.median_us, 0);
  }
}

TEST(Collective, WithTooFewDevicesTheKernelAloneIsMeasured) {
  const Scratch scratch;
  EXPECT_EQ(db::to_string(measure_default(scratch, "cpu", "all_reduce/f32/m=3,n=40,ranks=2").outcome), "ok");
}

TEST(MeasureClient, AnUnknownDeviceIsAnErrorThatNamesIt) {
  MeasureClient client({.device = "cpu:2", .index = 7});
  MeasureRequest request;
  request.problem = planted_problem();
  try {
    client.measure(request);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cpu:2"), std::string::npos) << error.what();
  }
}

TEST(TellingLines, TakesTheSanitizersReportElseTheEnd) {
  EXPECT_EQ(telling_lines(""), "");
  EXPECT_EQ(telling_lines("one\ntwo\n"), "one\ntwo");
  std::string many;
  for (int i = 0; i < 50; ++i) many += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(telling_lines(many).substr(0, 7), "line 38");
  const std::string report =
      "noise\n==12==ERROR: AddressSanitizer: heap-buffer-overflow on address\n  #0 here\n" + many;
  EXPECT_EQ(telling_lines(report).substr(0, 24), "ERROR: AddressSanitizer:");
}

}  // namespace
}  // namespace wavetune::measure
