#include <gtest/gtest.h>

#include <map>

#include "search/driver/tuner.h"
#include "tests/search/support/checks_code.h"
#include "tests/search/support/planted_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

using namespace test;

TunerOptions planted_options(const Scratch& scratch) {
  TunerOptions options;
  options.device = "cpu";
  options.run_timeout = std::chrono::milliseconds(5000);
  options.compile = scratch.compile_options();
  options.kernel_source = planted_source;
  options.source_hash = planted_hash;
  return options;
}

/// Each fate ended as it must, and the good one won.
void expect_fates(db::Database& database, const Tuner& tuner, const db::Problem& problem) {
  std::map<std::int64_t, db::Trial> trials;
  for (const db::Trial& trial : database.trials_of(tuner.environment(), problem, "planted-1")) {
    trials[trial.config.at("fate")] = trial;
  }
  const std::map<std::int64_t, db::Outcome> expected = {
      {good, db::Outcome::ok},
      {slower, db::Outcome::ok},
      {crashes, db::Outcome::fault},
      {hangs, db::Outcome::timeout},
      {wrong_numbers, db::Outcome::wrong},
      {leaves_a_hole, db::Outcome::wrong},
      {writes_outside, db::Outcome::wrong},
      {does_not_compile, db::Outcome::compile_error},
      {too_many_threads, db::Outcome::resource_limit},
      {writes_its_input, db::Outcome::wrong},
  };
  for (const auto& [fate, outcome] : expected) {
    EXPECT_EQ(db::to_string(trials[fate].outcome), db::to_string(outcome))
        << problem.key() << " fate " << fate << ": " << trials[fate].error;
    EXPECT_EQ(trials[fate].error.empty(), outcome == db::Outcome::ok) << problem.key() << " fate " << fate;
  }
  const auto winner = database.winner(tuner.environment(), problem);
  ASSERT_TRUE(winner.has_value()) << problem.key();
  EXPECT_EQ(winner->config, planted_config(good)) << problem.key();
}

TEST(PlantedFaults, AreRecordedAsSuchAndTheRunGoesOn) {
  const Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  Tuner tuner(planted_options(scratch), database, *provider);
  Reporter reporter(ReportStyle::quiet);
  const TuneReport report = tuner.run({{&planted_operator(), planted_problem(), 1}}, reporter);
  EXPECT_EQ(report.finished, 1);
  EXPECT_EQ(report.trials, fates);
  EXPECT_GT(report.idle_share, 0);
  EXPECT_LE(report.preparing_share + report.trials_share + report.unasked_share, report.idle_share + 1e-9);
  expect_fates(database, tuner, planted_problem());

  // Again: nothing is left to do.
  Reporter again(ReportStyle::quiet);
  const TuneReport second = tuner.run({{&planted_operator(), planted_problem(), 1}}, again);
  EXPECT_EQ(second.trials, 0);
  EXPECT_EQ(second.finished, 1);
}

TEST(PlantedFaults, EndTheSameSideBySideAndLookedAtByTheDevice) {
  const Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  TunerOptions options = planted_options(scratch);
  options.turns_a_device = 3;
  jit::CompileService compiler(scratch.compile_options());
  options.checks = checks_code(compiler, *provider);
  Tuner tuner(options, database, *provider);
  Reporter reporter(ReportStyle::quiet);
  std::vector<TuneTask> tasks;
  for (const std::int64_t n : {1000, 2000, 3000, 4000}) tasks.push_back({&planted_operator(), planted_problem(n), 1});
  const TuneReport report = tuner.run(tasks, reporter);
  EXPECT_EQ(report.finished, 4);
  EXPECT_EQ(report.trials, 4 * fates);
  for (const TuneTask& task : tasks) expect_fates(database, tuner, task.problem);
}

TEST(Tuner, StopsAtTheCapAndGoesOnFromThereWithAHigherOne) {
  const Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  const std::vector<TuneTask> tasks = {{&planted_operator(), planted_problem(500), 1},
                                       {&planted_operator(), planted_problem(900), 2}};
  const auto run = [&](int trials) {
    TunerOptions options = planted_options(scratch);
    options.trials = trials;
    Tuner tuner(options, database, *provider);
    Reporter reporter(ReportStyle::quiet);
    return tuner.run(tasks, reporter).trials;
  };
  EXPECT_EQ(run(2), 4);
  EXPECT_EQ(run(2), 0);
  EXPECT_EQ(run(3), 2);
  EXPECT_EQ(database.count_trials(), 6);
}

TEST(Tuner, TrialsOfOtherSourcesDoNotCount) {
  const Scratch scratch;
  db::Database database = db::Database::open(scratch.database(), db::OpenMode::create);
  const auto provider = hip::load_provider(hip::parse_device_spec("cpu"));
  const auto run = [&](const std::string& hash) {
    TunerOptions options = planted_options(scratch);
    options.trials = 2;
    options.source_hash = [hash](const templates::Operator&) { return hash; };
    Tuner tuner(options, database, *provider);
    Reporter reporter(ReportStyle::quiet);
    return tuner.run({{&planted_operator(), planted_problem(), 1}}, reporter).trials;
  };
  EXPECT_EQ(run("old"), 2);
  EXPECT_EQ(run("new"), 2);
  EXPECT_EQ(run("new"), 0);
  EXPECT_EQ(database.current_source("planted"), "new");
}

}  // namespace
}  // namespace wavetune::search
