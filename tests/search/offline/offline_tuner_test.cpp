// Offline tuning with an operator whose configurations go wrong in chosen ways. It is compiled by the CPU provider
// while the target claims to be gfx950, so that no AMD compiler is needed.
#include "search/offline/offline_tuner.h"

#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "db/base/error.h"
#include "search/driver/interrupt.h"
#include "search/driver/tuner.h"
#include "tests/search/support/planted_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

using namespace test;

jit::CompileTarget stand_in_target() {
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  jit::CompileTarget target;
  target.device = "cpu";
  target.arch = "gfx950";
  target.options = provider->compile_options(provider->devices().front());
  target.prelude = provider->prelude();
  target.compiler = "stand-in";
  target.compiler_version = "1";
  target.limits = {"gfx950", 64, 1024, 163840, 256};
  return target;
}

// too_many_threads is seen not to fit before anything is compiled.
constexpr int candidates = fates - 1;

class Offline : public testing::Test {
 protected:
  OfflineOptions options() const {
    OfflineOptions options;
    options.compile = scratch.compile_options();
    options.kernel_source = planted_source;
    options.source_hash = planted_hash;
    return options;
  }
  OfflineReport run(const OfflineOptions& with, std::vector<TuneTask> tasks) {
    OfflineTuner tuner(with, database, stand_in_target());
    environment = tuner.environment();
    Reporter reporter(ReportStyle::quiet);
    return tuner.run(std::move(tasks), reporter);
  }
  OfflineReport run(const OfflineOptions& with) { return run(with, {{&planted_operator(), planted_problem(), 1}}); }

  Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  db::Environment environment;
};

TEST_F(Offline, KeepsWhatCompilesAndRemembersWhatDoesNot) {
  const OfflineReport report = run(options());
  EXPECT_EQ(report.compiled, candidates);
  EXPECT_EQ(report.kept, candidates - 1) << "all but the one that does not compile";
  EXPECT_EQ(report.complete, 1) << "nothing is left to try";
  EXPECT_EQ(environment.arch, "gfx950");
  for (const db::OfflineTrial& trial : database.offline_trials(environment)) {
    const bool bad = trial.config == planted_config(does_not_compile);
    EXPECT_EQ(trial.outcome, bad ? db::Outcome::compile_error : db::Outcome::ok) << db::to_text(trial.config);
    EXPECT_EQ(trial.error.empty(), !bad);
    EXPECT_GT(trial.predicted_us, 0);
    EXPECT_GT(trial.compile_ms, 0);
  }
  db::Environment node = environment;
  node.device = "AMD Instinct MI355X";
  EXPECT_EQ(database.shortlist(node, planted_problem(), "planted-1", 100).size(), std::size_t{candidates} - 1);
}

TEST_F(Offline, StopsAtTheShortlistAndGoesOnWithALongerOne) {
  OfflineOptions with = options();
  with.shortlist = 2;
  with.compile.workers = 1;
  EXPECT_EQ(run(with).kept, 2);
  EXPECT_EQ(run(with).compiled, 0) << "complete";
  with.shortlist = 5;
  const OfflineReport more = run(with);
  EXPECT_EQ(more.kept, 3);
  EXPECT_EQ(more.complete, 1);
  EXPECT_EQ(database.offline_trials(environment).size(), static_cast<std::size_t>(2 + more.compiled));
}

TEST_F(Offline, EveryShapeGetsSomeBeforeAnyGetsMore) {
  OfflineOptions with = options();
  with.compile.workers = 1;
  with.shortlist = 6;
  run(with, {{&planted_operator(), planted_problem(100), 1}, {&planted_operator(), planted_problem(900), 5}});
  std::vector<std::int64_t> order;
  for (const db::OfflineTrial& trial : database.offline_trials(environment)) order.push_back(trial.problem.dim("n"));
  ASSERT_GE(order.size(), 12u);
  order.resize(4);
  EXPECT_THAT(order, testing::ElementsAre(900, 900, 100, 100)) << "heavier shapes first";
}

TEST_F(Offline, TrialsOfOtherSourcesDoNotCount) {
  OfflineOptions with = options();
  with.shortlist = 2;
  run(with);
  with.source_hash = [](const templates::Operator&) { return std::string("planted-2"); };
  EXPECT_GE(run(with).kept, 2) << "compiled again";
  db::Environment node = environment;
  EXPECT_EQ(database.shortlist(node, planted_problem(), "planted-2", 100).size(), 2u);
}

TEST_F(Offline, ABudgetThatIsSpentCompilesNothing) {
  OfflineOptions with = options();
  with.budget_s = 1e-6;
  const OfflineReport report = run(with);
  EXPECT_EQ(report.compiled, 0);
  EXPECT_EQ(report.complete, 0);
  EXPECT_EQ(report.untouched, 1);
}

TEST_F(Offline, ACompileThatTakesLongDoesNotHoldUpTheEndOfTheBudget) {
  OfflineOptions with = options();
  with.budget_s = 3;
  with.compile.workers = 1;
  // Minutes of work for the compiler: twice as many instantiations at each level.
  with.kernel_source = [](const templates::Operator& op, const db::Problem& problem, const db::Config&) {
    return "template <int N, int M> struct S { static constexpr long v = S<N - 1, 2 * M>::v + S<N - 1, 2 * M + 1>::v; "
           "};\n"
           "template <int M> struct S<0, M> { static constexpr long v = M; };\n"
           "constexpr long x = S<26, 1>::v;\n" +
           planted_source(op, problem, planted_config(good));
  };
  const auto begin = std::chrono::steady_clock::now();
  const OfflineReport report = run(with);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(report.compiled, 0);
  EXPECT_TRUE(database.offline_trials(environment).empty()) << "what was given up has no outcome";
}

TEST_F(Offline, CtrlCEndsTheRunAndTheNextOneGoesOn) {
  OfflineOptions with = options();
  with.compile.workers = 1;
  OfflineReport report;
  {
    const InterruptGuard guard;
    std::thread signal([&] {
      // After the first one is stored.
      while (database.offline_trials(environment).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::raise(SIGINT);
    });
    {
      OfflineTuner tuner(with, database, stand_in_target());
      environment = tuner.environment();
    }
    report = run(with);
    signal.join();
  }
  EXPECT_TRUE(report.interrupted);
  EXPECT_GT(report.compiled, 0);
  EXPECT_LT(report.compiled, candidates);
  EXPECT_EQ(static_cast<std::int64_t>(database.offline_trials(environment).size()), report.compiled);
  const InterruptGuard fresh;
  const OfflineReport rest = run(with);
  EXPECT_FALSE(rest.interrupted);
  EXPECT_EQ(rest.compiled, candidates - report.compiled) << "none is compiled twice";
}

TEST_F(Offline, AnUnknownArchitectureIsRefused) {
  jit::CompileTarget target = stand_in_target();
  target.arch = "gfx90a";
  EXPECT_THROW(OfflineTuner(options(), database, target), Error);
}

/// What a node does with a shortlist.
class ShortlistOnANode : public testing::Test {
 protected:
  std::vector<std::int64_t> fates_tried(int trials) {
    TunerOptions options;
    options.device = "cpu";
    options.trials = trials;
    options.run_timeout = std::chrono::milliseconds(5000);
    options.compile = scratch.compile_options();
    options.kernel_source = planted_source;
    options.source_hash = planted_hash;
    Tuner tuner(options, database, *provider);
    Reporter reporter(ReportStyle::quiet);
    tuner.run({{&planted_operator(), planted_problem(), 1}}, reporter);
    std::vector<std::int64_t> tried;
    for (const db::Trial& trial : database.trials_of(tuner.environment(), planted_problem(), "planted-1"))
      tried.push_back(trial.config.at("fate"));
    return tried;
  }
  void shortlist(Fate fate, double predicted_us, const std::string& arch, const std::string& hash = "planted-1") {
    db::OfflineTrial trial;
    trial.problem = planted_problem();
    trial.config = planted_config(fate);
    trial.source_hash = hash;
    trial.predicted_us = predicted_us;
    database.put_offline_trial({std::string(db::offline_device), arch, 1, "none", "x", "1"}, trial);
  }

  Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec("cpu"));
  std::string own_arch = provider->devices().front().arch;
};

TEST_F(ShortlistOnANode, IsMeasuredFirstInItsOrder) {
  shortlist(good, 30, own_arch);
  shortlist(leaves_a_hole, 10, own_arch);
  shortlist(wrong_numbers, 20, own_arch);
  EXPECT_THAT(fates_tried(3), testing::ElementsAre(leaves_a_hole, wrong_numbers, good));
  // Then the default configuration, and the search on its own.
  const std::vector<std::int64_t> more = fates_tried(5);
  ASSERT_EQ(more.size(), 5u);
  EXPECT_EQ(more[3], slower);
}

TEST_F(ShortlistOnANode, StaleAndForeignOnesAreNot) {
  shortlist(leaves_a_hole, 10, own_arch, "planted-0");
  shortlist(wrong_numbers, 10, "gfx950");
  EXPECT_THAT(fates_tried(1), testing::ElementsAre(slower)) << "the default configuration, as without a shortlist";
}

}  // namespace
}  // namespace wavetune::search
