#include "search/driver/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

db::Config numbered(int number) { return {{"number", number}}; }
int number_of(const db::Config& config) { return static_cast<int>(config.at("number")); }

/// Compiles by waiting in a thread of its own, measures by waiting in the device's.
class FakeMaker : public TrialMaker {
 public:
  ~FakeMaker() override { join(); }

  std::function<std::chrono::milliseconds(int)> compile_time = [](int) { return 0ms; };
  std::function<std::chrono::milliseconds(int)> measure_time = [](int) { return 0ms; };
  std::function<double(int)> time_us = [](int number) { return 100.0 + number; };
  std::function<void(int)> in_prepare = [](int) {};
  std::function<void(int)> in_compile = [](int) {};
  std::function<void(int)> in_check = [](int) {};
  std::function<void(int)> in_measure = [](int) {};

  void prepare(const db::Config& config, Done done) override {
    const int number = number_of(config);
    in_prepare(number);
    const int compiling = ++compiling_;
    most_compiling = std::max(most_compiling.load(), compiling);
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, number, done = std::move(done)] {
      const Clock::time_point end = Clock::now() + compile_time(number);
      while (Clock::now() < end && !given_up_) std::this_thread::sleep_for(1ms);
      if (measuring_ && compile_time(number) > 0ms) ++overlaps;
      --compiling_;
      std::exception_ptr failure;
      try {
        in_compile(number);
      } catch (...) {
        failure = std::current_exception();
      }
      done(failure ? nullptr : std::make_shared<Prepared>(), failure);
    });
  }

  void check(const db::Config& config, Prepared&) override { in_check(number_of(config)); }

  std::optional<db::Trial> measure(const db::Config& config, Prepared&, double incumbent_us,
                                   const std::function<bool()>& give_up) override {
    const int number = number_of(config);
    measuring_ = true;
    in_measure(number);
    if (compiling_ > 0) ++overlaps;
    measured.push_back(number);
    incumbents.push_back(incumbent_us);
    const Clock::time_point end = Clock::now() + measure_time(number);
    bool gone = false;
    while (Clock::now() < end && !(gone = give_up())) std::this_thread::sleep_for(1ms);
    measuring_ = false;
    if (gone) return std::nullopt;
    db::Trial trial;
    trial.config = config;
    trial.median_us = time_us(number);
    trial.outcome = trial.median_us > 0 ? db::Outcome::ok : db::Outcome::fault;
    return trial;
  }

  void give_up_all() override { given_up_ = true; }

  void join() {
    const std::lock_guard lock(mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<int> most_compiling = 0;
  std::atomic<int> overlaps = 0;  ///< compiles seen while measuring
  std::vector<int> measured;
  std::vector<double> incumbents;

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::atomic<int> compiling_ = 0;
  std::atomic<bool> measuring_ = false;
  std::atomic<bool> given_up_ = false;
};

/// Proposes 0, 1, 2, ... and writes down what happened: "+3" proposal 3, "=3" result of 3.
struct Log {
  int left = 20;
  int next = 0;
  std::vector<std::string> events;
  std::vector<int> told;
  double cost_s = 0;

  PipelineEnds ends() {
    return {[this]() -> std::optional<db::Config> {
              if (left-- <= 0) return std::nullopt;
              events.push_back("+" + std::to_string(next));
              return numbered(next++);
            },
            [this](const db::Trial& trial, double cost) {
              events.push_back("=" + std::to_string(number_of(trial.config)));
              told.push_back(number_of(trial.config));
              cost_s += cost;
            }};
  }
};

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

TEST(Pipeline, CompilesAheadWhileTheDeviceMeasures) {
  FakeMaker maker;
  maker.compile_time = [](int) { return 40ms; };
  maker.measure_time = [](int) { return 10ms; };
  DeviceThread device;
  Log log;
  PipelineOptions options;
  options.depth = 4;
  const Clock::time_point begin = Clock::now();
  const PipelineReport report = run_pipeline(maker, device, options, log.ends());
  const double seconds = seconds_since(begin);
  EXPECT_EQ(report.told, 20);
  EXPECT_EQ(report.abandoned, 0);
  EXPECT_TRUE(report.exhausted);
  EXPECT_EQ(log.told, first_numbers(20));
  EXPECT_EQ(maker.measured, first_numbers(20));
  EXPECT_EQ(maker.most_compiling, 4);
  EXPECT_GT(maker.overlaps, 5);
  EXPECT_NEAR(log.cost_s, seconds, 0.5);
}

TEST(Pipeline, InBatchesNothingElseRunsWhileAKernelIsTimed) {
  FakeMaker maker;
  maker.compile_time = [](int number) { return std::chrono::milliseconds(5 + number * 7 % 20); };
  maker.measure_time = [](int) { return 5ms; };
  DeviceThread device;
  Log log;
  log.left = 10;
  PipelineOptions options;
  options.depth = 4;
  options.batches = true;
  const Clock::time_point begin = Clock::now();
  const PipelineReport report = run_pipeline(maker, device, options, log.ends());
  EXPECT_EQ(report.told, 10);
  EXPECT_EQ(maker.overlaps, 0);
  EXPECT_EQ(maker.most_compiling, 4);
  EXPECT_EQ(log.told, first_numbers(10));
  EXPECT_THAT(log.events, testing::ElementsAre("+0", "+1", "+2", "+3", "=0", "=1", "=2", "=3", "+4", "+5", "+6", "+7",
                                               "=4", "=5", "=6", "=7", "+8", "+9", "=8", "=9"));
  EXPECT_NEAR(log.cost_s, seconds_since(begin), 0.1);
}

TEST(Pipeline, ProposesAtFixedPointsWhateverTheLatencies) {
  for (const bool batches : {false, true}) {
    std::vector<std::string> first;
    for (const unsigned seed : {1u, 2u, 3u}) {
      FakeMaker maker;
      std::mt19937 random(seed);
      std::vector<int> compile_ms;
      std::vector<int> measure_ms;
      for (int i = 0; i < 20; ++i) {
        compile_ms.push_back(static_cast<int>(random() % 15));
        measure_ms.push_back(static_cast<int>(random() % 6));
      }
      maker.compile_time = [&](int number) { return std::chrono::milliseconds(compile_ms.at(number)); };
      maker.measure_time = [&](int number) { return std::chrono::milliseconds(measure_ms.at(number)); };
      DeviceThread device;
      Log log;
      PipelineOptions options;
      options.depth = 3;
      options.batches = batches;
      run_pipeline(maker, device, options, log.ends());
      if (first.empty()) first = log.events;
      EXPECT_EQ(log.events, first) << "batches " << batches << ", latencies " << seed;
    }
    if (batches) continue;
    // Proposal i + depth directly after result i.
    EXPECT_THAT(std::vector<std::string>(first.begin(), first.begin() + 9),
                testing::ElementsAre("+0", "+1", "+2", "=0", "+3", "=1", "+4", "=2", "+5"));
  }
}

TEST(Pipeline, TellsTheBestTimeSoFarToTheMeasurement) {
  FakeMaker maker;
  const std::map<int, double> times = {{0, 50}, {1, 0}, {2, 70}, {3, 20}, {4, 30}};  // 0: it faults
  maker.time_us = [&](int number) { return times.at(number); };
  DeviceThread device;
  Log log;
  log.left = 5;
  PipelineOptions options;
  options.incumbent_us = 60;
  run_pipeline(maker, device, options, log.ends());
  EXPECT_THAT(maker.incumbents, testing::ElementsAre(60, 50, 50, 50, 20));
}

TEST(Pipeline, StopsProposingWhenItIsEnoughAndFinishesWhatIsInFlight) {
  for (const bool batches : {false, true}) {
    FakeMaker maker;
    maker.compile_time = [](int) { return 5ms; };
    DeviceThread device;
    Log log;
    PipelineOptions options;
    options.depth = 4;
    options.batches = batches;
    options.enough = [&] { return log.told.size() >= 6; };
    const PipelineReport report = run_pipeline(maker, device, options, log.ends());
    EXPECT_EQ(report.abandoned, 0);
    EXPECT_FALSE(report.exhausted);
    EXPECT_EQ(log.told, first_numbers(batches ? 8 : 9));
    Log capped;
    options.enough = nullptr;
    options.most = 5;
    run_pipeline(maker, device, options, capped.ends());
    EXPECT_EQ(capped.told, first_numbers(5));
  }
}

TEST(Pipeline, NothingToProposeIsAnEnd) {
  FakeMaker maker;
  DeviceThread device;
  Log log;
  log.left = 0;
  EXPECT_TRUE(run_pipeline(maker, device, {}, log.ends()).exhausted);
  EXPECT_TRUE(log.events.empty());
}

struct Thrower {
  const char* where;
  void (*plant)(FakeMaker&, PipelineEnds&);
  std::size_t told;  ///< at least, before number 5 went wrong
};

class PipelineThrows : public testing::TestWithParam<std::tuple<Thrower, bool>> {};

void throw_at_five(int number) {
  if (number == 5) fail(ErrorKind::io, "number five");
}

const Thrower throwers[] = {
    {"prepare", [](FakeMaker& maker, PipelineEnds&) { maker.in_prepare = throw_at_five; }, 0},
    {"compile", [](FakeMaker& maker, PipelineEnds&) { maker.in_compile = throw_at_five; }, 0},
    {"check", [](FakeMaker& maker, PipelineEnds&) { maker.in_check = throw_at_five; }, 0},
    {"measure", [](FakeMaker& maker, PipelineEnds&) { maker.in_measure = throw_at_five; }, 5},
    {"propose",
     [](FakeMaker&, PipelineEnds& ends) {
       ends.propose = [inner = ends.propose] {
         auto config = inner();
         if (config) throw_at_five(number_of(*config));
         return config;
       };
     },
     1},
    {"told",
     [](FakeMaker&, PipelineEnds& ends) {
       ends.told = [inner = ends.told](const db::Trial& trial, double cost) {
         throw_at_five(number_of(trial.config));
         inner(trial, cost);
       };
     },
     5},
};

INSTANTIATE_TEST_SUITE_P(Everywhere, PipelineThrows, testing::Combine(testing::ValuesIn(throwers), testing::Bool()),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).where) +
                                  (std::get<1>(instance.param) ? "InBatches" : "Overlapping");
                         });

TEST_P(PipelineThrows, CarriesTheErrorOutAndKeepsWhatWasTold) {
  const Thrower& thrower = std::get<0>(GetParam());
  FakeMaker maker;
  maker.compile_time = [](int) { return 2ms; };
  DeviceThread device;
  Log log;
  PipelineOptions options;
  options.batches = std::get<1>(GetParam());
  PipelineEnds ends = log.ends();
  thrower.plant(maker, ends);
  try {
    run_pipeline(maker, device, options, ends);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_STREQ(error.what(), "number five");
  }
  EXPECT_EQ(log.told, first_numbers(static_cast<int>(log.told.size())));
  EXPECT_GE(log.told.size(), thrower.told);
  EXPECT_LE(log.told.size(), 8u);
}

struct End {
  const char* name;
  std::chrono::milliseconds compile;
  std::chrono::milliseconds measure;
};

class PipelineEndsInTime : public testing::TestWithParam<std::tuple<End, bool>> {};

const End slow[] = {
    {"CompilesThatHang", 60'000ms, 0ms}, {"MeasurementsThatHang", 0ms, 60'000ms}, {"Both", 150ms, 90ms}};

INSTANTIATE_TEST_SUITE_P(Slow, PipelineEndsInTime, testing::Combine(testing::ValuesIn(slow), testing::Bool()),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) +
                                  (std::get<1>(instance.param) ? "InBatches" : "Overlapping");
                         });

TEST_P(PipelineEndsInTime, ABudgetIsKeptByAbandoningWhatIsInFlight) {
  const End& end = std::get<0>(GetParam());
  FakeMaker maker;
  maker.compile_time = [&](int) { return end.compile; };
  maker.measure_time = [&](int) { return end.measure; };
  DeviceThread device;
  Log log;
  log.left = 1000;
  constexpr double budget_s = 2;
  const Clock::time_point begin = Clock::now();
  PipelineOptions options;
  options.batches = std::get<1>(GetParam());
  options.patience = [&] { return seconds_since(begin) < budget_s ? Patience::go_on : Patience::none; };
  const PipelineReport report = run_pipeline(maker, device, options, log.ends());
  EXPECT_GE(seconds_since(begin), budget_s);
  // What is in flight would take a minute; a busy machine may be slow to notice that it is over.
  EXPECT_LE(seconds_since(begin), budget_s + 3);
  EXPECT_GT(report.abandoned, 0);
  EXPECT_EQ(log.told, first_numbers(report.told));
  EXPECT_EQ(static_cast<std::size_t>(report.told + report.abandoned), static_cast<std::size_t>(log.next));
}

TEST(Pipeline, AfterControlCTheMeasurementInProgressIsKept) {
  FakeMaker maker;
  std::atomic<bool> interrupted = false;
  maker.measure_time = [](int) { return 100ms; };
  maker.compile_time = [](int number) { return number < 2 ? 0ms : 60'000ms; };
  maker.in_measure = [&](int number) {
    if (number == 1) interrupted = true;
  };
  DeviceThread device;
  Log log;
  PipelineOptions options;
  options.patience = [&] { return interrupted ? Patience::finish_measurement : Patience::go_on; };
  const PipelineReport report = run_pipeline(maker, device, options, log.ends());
  EXPECT_EQ(log.told, first_numbers(2));
  EXPECT_GT(report.abandoned, 0);
  EXPECT_EQ(report.told + report.abandoned, log.next);
}

TEST(Pipeline, ManyShortRunsEndEachTime) {
  DeviceThread device;
  for (int run = 0; run < 200; ++run) {
    FakeMaker maker;
    Log log;
    log.left = 6;
    PipelineOptions options;
    options.depth = 1 + run % 5;
    options.batches = run % 2 == 0;
    run_pipeline(maker, device, options, log.ends());
    EXPECT_EQ(log.told, first_numbers(6));
  }
}

}  // namespace
}  // namespace wavetune::search
