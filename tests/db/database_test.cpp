// Values that go in come out, and winners are what the view promises.
#include "db/database.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <thread>

#include "db/samples.h"
#include "db/sqlite/statement.h"
#include "fixtures.h"

namespace wavetune::db {
namespace {

void expect_equal(const Trial& a, const Trial& b) {
  EXPECT_EQ(a.problem, b.problem);
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.source_hash, b.source_hash);
  EXPECT_EQ(a.outcome, b.outcome);
  EXPECT_EQ(a.median_us, b.median_us);
  EXPECT_EQ(a.samples_us, b.samples_us);
  EXPECT_EQ(a.compile_ms, b.compile_ms);
  EXPECT_EQ(a.max_error, b.max_error);
  EXPECT_EQ(a.resources, b.resources);
  EXPECT_EQ(a.error, b.error);
}

class DatabaseTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Database database_ = Database::open(folder_ / "tune.db", OpenMode::create);
  Environment environment_ = example_environment();
};

TEST_F(DatabaseTest, TrialsComeBackAsTheyWere) {
  Trial trial = example_trial();
  database_.add_trial(environment_, trial);
  trial.outcome = Outcome::compile_error;
  trial.median_us = 0;
  trial.samples_us.clear();
  trial.error = "kernel.hip:3: Fehler: „µs“ 内核 \xF0\x9F\x92\xA5\n\"quoted\", comma\ttab";
  trial.created_at = "2026-08-01T00:00:00.000Z";
  database_.add_trial(environment_, trial);
  const auto stored = database_.trials();
  ASSERT_EQ(stored.size(), 2u);
  expect_equal(stored[0].trial, example_trial());
  EXPECT_THAT(stored[0].trial.created_at, testing::MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]{3}Z"));
  expect_equal(stored[1].trial, trial);
  EXPECT_EQ(stored[1].trial.created_at, trial.created_at);
  EXPECT_EQ(stored[1].environment, environment_);
  EXPECT_EQ(database_.count_trials(), 2);
}

TEST_F(DatabaseTest, WhatWasFastWithOtherSourcesIsRemembered) {
  const auto add = [&](std::int64_t bm, double median_us, const std::string& source_hash, const Problem& problem) {
    Trial trial = example_trial(bm, median_us);
    trial.source_hash = source_hash;
    trial.problem = problem;
    database_.add_trial(environment_, trial);
  };
  const Problem problem = example_problem();
  add(16, 30, "older", problem);
  add(32, 20, "older", problem);
  add(32, 26, "old", problem);
  add(64, 25, "old", problem);
  add(128, 1, "now", problem);
  add(256, 1, "old", example_problem(17));
  Trial wrong = example_trial(512, 0);
  wrong.source_hash = "old";
  wrong.outcome = Outcome::wrong;
  wrong.samples_us.clear();
  database_.add_trial(environment_, wrong);
  const auto earlier = [&](int most) {
    std::vector<std::int64_t> tiles;
    for (const Config& config : database_.earlier_best(environment_, problem, "now", most))
      tiles.push_back(config.at("bm"));
    return tiles;
  };
  EXPECT_THAT(earlier(10), testing::ElementsAre(32, 64, 16));
  EXPECT_THAT(earlier(2), testing::ElementsAre(32, 64));
  Environment other = environment_;
  other.device = "another";
  EXPECT_TRUE(database_.earlier_best(other, problem, "now", 10).empty());
}

TEST_F(DatabaseTest, EveryOutcomeIsKept) {
  for (const Outcome outcome : all_outcomes) {
    Trial trial = example_trial();
    trial.outcome = outcome;
    if (outcome != Outcome::ok) trial.median_us = 0;
    database_.add_trial(environment_, trial);
    EXPECT_EQ(database_.trials({.outcome = outcome}).size(), 1u) << to_string(outcome);
    EXPECT_EQ(outcome_from_string(to_string(outcome)), outcome);
  }
  EXPECT_EQ(outcome_from_string("fine"), std::nullopt);
  EXPECT_EQ(database_.outcome_counts().size(), std::size(all_outcomes));
}

TEST_F(DatabaseTest, NotFiniteErrorIsInfinite) {
  Trial trial = example_trial();
  trial.outcome = Outcome::wrong;
  trial.max_error = std::numeric_limits<double>::quiet_NaN();
  database_.add_trial(environment_, trial);
  EXPECT_TRUE(std::isinf(database_.trials().at(0).trial.max_error));
}

TEST_F(DatabaseTest, OkNeedsATime) {
  for (const double median :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Trial trial = example_trial();
    trial.median_us = median;
    EXPECT_EQ(error_of([&] { database_.add_trial(environment_, trial); }).kind(), ErrorKind::internal);
  }
  EXPECT_EQ(database_.count_trials(), 0);
}

TEST_F(DatabaseTest, TheNewestTrialOfAConfigurationIsTheOneThatCounts) {
  database_.set_current_source("gemm", "aaaa");
  database_.add_trial(environment_, example_trial(32, 10));
  database_.add_trial(environment_, example_trial(64, 10.1));
  database_.add_trial(environment_, example_trial(128, 30));
  EXPECT_EQ(database_.winner(environment_, example_problem())->config.at("bm"), 32);
  // Timed in turns: the other way round.
  database_.add_trial(environment_, example_trial(32, 10.4));
  database_.add_trial(environment_, example_trial(64, 10.3));
  const auto winner = database_.winner(environment_, example_problem());
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->config.at("bm"), 64);
  EXPECT_EQ(winner->median_us, 10.3);
  const std::vector<Trial> newest = database_.trials_of(environment_, example_problem(), "aaaa");
  ASSERT_EQ(newest.size(), 3u);
  EXPECT_EQ(newest[0].config.at("bm"), 32);
  EXPECT_EQ(newest[0].median_us, 10.4);
  EXPECT_EQ(newest[2].median_us, 30);
  EXPECT_EQ(database_.count_trials(), 5) << "the earlier ones are kept";
  EXPECT_EQ(newest[0].state, example_trial().state);
  EXPECT_EQ(database_.all_winners().size(), 1u);
}

TEST_F(DatabaseTest, WinnerIsTheFastestOkTrialOfCurrentSources) {
  database_.add_trial(environment_, example_trial(32, 20));
  EXPECT_EQ(database_.winner(environment_, example_problem()), std::nullopt) << "no current source is known yet";
  database_.set_current_source("gemm", "aaaa");
  database_.add_trial(environment_, example_trial(64, 10));
  Trial later = example_trial(128, 10);  // as fast
  later.created_at = "2999-01-01T00:00:00.000Z";
  database_.add_trial(environment_, later);
  Trial wrong = example_trial(256, 1);
  wrong.outcome = Outcome::wrong;
  database_.add_trial(environment_, wrong);
  Trial old = example_trial(16, 1);
  old.source_hash = "bbbb";
  database_.add_trial(environment_, old);
  auto winner = database_.winner(environment_, example_problem());
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->config.at("bm"), 64);
  EXPECT_EQ(winner->median_us, 10);
  EXPECT_EQ(winner->resources, example_trial().resources);
  EXPECT_EQ(winner->source_hash, "aaaa");
  EXPECT_EQ(database_.winner(environment_, example_problem(17)), std::nullopt);

  database_.set_current_source("gemm", "bbbb");
  winner = database_.winner(environment_, example_problem());
  ASSERT_TRUE(winner);
  EXPECT_EQ(winner->config.at("bm"), 16);
  database_.set_current_source("gemm", "cccc");
  EXPECT_EQ(database_.winner(environment_, example_problem()), std::nullopt);
  EXPECT_EQ(database_.current_source("gemm"), "cccc");
  EXPECT_EQ(database_.current_source("rope"), std::nullopt);
}

TEST_F(DatabaseTest, AnotherEnvironmentDoesNotWin) {
  database_.set_current_source("gemm", "aaaa");
  database_.add_trial(environment_, example_trial(64, 10));
  using Change = void (*)(Environment&);
  const Change changes[] = {[](Environment& e) { e.device = "AMD Instinct MI300X"; },
                            [](Environment& e) { e.arch = "gfx942"; },
                            [](Environment& e) { e.cu_count = 304; },
                            [](Environment& e) { e.driver = "hip 7.3"; },
                            [](Environment& e) { e.compiler = "g++"; },
                            [](Environment& e) { e.compiler_version = "7.3"; }};
  for (const Change change : changes) {
    Environment other = environment_;
    change(other);
    EXPECT_EQ(database_.winner(other, example_problem()), std::nullopt);
    database_.add_trial(other, example_trial(32, 1));
    EXPECT_EQ(database_.winner(environment_, example_problem())->median_us, 10);
    EXPECT_EQ(database_.winner(other, example_problem())->median_us, 1);
  }
  EXPECT_EQ(database_.environments().size(), 1 + std::size(changes));
  EXPECT_EQ(database_.all_winners().size(), 1 + std::size(changes));
  EXPECT_EQ(database_.trials({.environment = environment_}).size(), 1u);
}

TEST_F(DatabaseTest, WinnersOfAnEnvironment) {
  database_.set_current_source("gemm", "aaaa");
  database_.set_current_source("rope", "rrrr");
  for (const std::int64_t m : {1, 2, 3}) {
    for (const double median : {3.0, 2.0}) {
      Trial trial = example_trial(64, median);
      trial.problem = example_problem(m);
      database_.add_trial(environment_, trial);
    }
  }
  Trial rope = example_trial();
  rope.problem = {"rope", "f32", {{"m", 4}}};
  rope.source_hash = "rrrr";
  database_.add_trial(environment_, rope);
  EXPECT_EQ(database_.winners(environment_).size(), 4u);
  EXPECT_EQ(database_.winners(environment_, "rope").size(), 1u);
  EXPECT_EQ(database_.winners(environment_, "rope").at(0).problem, rope.problem);
  for (const Winner& winner : database_.winners(environment_, "gemm")) EXPECT_EQ(winner.median_us, 2);
  EXPECT_EQ(database_.trials({.only_winners = true}).size(), 4u);
  EXPECT_EQ(database_.trials({.op = "gemm", .only_winners = true}).size(), 3u);
}

TEST_F(DatabaseTest, TrialsOfAProblemForResume) {
  database_.add_trial(environment_, example_trial(32));
  Trial failed = example_trial(64);
  failed.outcome = Outcome::fault;
  database_.add_trial(environment_, failed);
  Trial old = example_trial(128);
  old.source_hash = "old";
  database_.add_trial(environment_, old);
  const auto done = database_.trials_of(environment_, example_problem(), "aaaa");
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].outcome, Outcome::fault);
  EXPECT_TRUE(database_.trials_of(environment_, example_problem(5), "aaaa").empty());
  EXPECT_TRUE(database_.trials_of({}, example_problem(), "aaaa").empty());
}

TEST_F(DatabaseTest, NewestLayoutCounts) {
  Layout layout = example_layout();
  layout.created_at = "2026-08-01T00:00:00.000Z";
  database_.put_layout(environment_, layout);
  layout.created_at = "2026-07-01T00:00:00.000Z";  // stored later (an import), but older
  layout.tp = 8;
  layout.dp = 1;
  database_.put_layout(environment_, layout);
  const auto found = database_.layout(environment_, "cafe", 8, Objective::throughput);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tp, 4);
  EXPECT_EQ(found->dp, 2);
  ASSERT_EQ(found->table.size(), 2u);
  EXPECT_FALSE(found->table[0].fits);
  EXPECT_EQ(found->table[0].reason, "needs 744 GB of 288 GB");
  EXPECT_EQ(found->table[1].estimated, example_layout().table[1].estimated);
  EXPECT_EQ(found->table[1].measured_share, 0.75);
  EXPECT_EQ(found->table[1].memory_bytes_per_device, 1.5e11);
  EXPECT_EQ(database_.layout(environment_, "cafe", 8, Objective::latency), std::nullopt);
  EXPECT_EQ(database_.layout(environment_, "cafe", 4, Objective::throughput), std::nullopt);
  layout.objective = Objective::latency;
  layout.created_at.clear();
  database_.put_layout(environment_, layout);
  Environment elsewhere = environment_;
  elsewhere.driver = elsewhere.compiler_version = "";
  EXPECT_TRUE(database_.latest_layout(elsewhere, "cafe", 8)) << "a layout belongs to the hardware";
  elsewhere.cu_count = 304;
  EXPECT_FALSE(database_.latest_layout(elsewhere, "cafe", 8));
  EXPECT_EQ(database_.latest_layout(environment_, "cafe", 8)->objective, Objective::latency);
  EXPECT_EQ(database_.latest_layout(environment_, "beef", 8), std::nullopt);
  EXPECT_EQ(database_.layouts().size(), 3u);
}

TEST_F(DatabaseTest, ThreadsShareOneDatabase) {
  database_.set_current_source("gemm", "aaaa");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 10; ++i) {
        database_.add_trial(environment_, example_trial(thread * 100 + i, 10 + i));
        EXPECT_TRUE(database_.winner(environment_, example_problem()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(database_.count_trials(), 40);
}

// A million trials must not make a lookup slow: no step of its plan may walk the table of trials.
TEST_F(DatabaseTest, LookupsUseTheIndexes) {
  sqlite::Connection connection(database_.path(), sqlite::Access::read_only);
  const char* queries[] = {
      "SELECT * FROM winners WHERE environment_id = 1 AND op = 'gemm' AND dtype = 'f32' AND dims = ''",
      "SELECT * FROM winners WHERE environment_id = 1 AND op = 'gemm'", "SELECT * FROM winners",
      "SELECT t.id FROM trials t JOIN problems p ON p.id = t.problem_id WHERE t.environment_id = 1 AND "
      "p.op = 'gemm' AND p.dtype = 'f32' AND p.dims = '' AND t.source_hash = 'a' ORDER BY t.id",
      "SELECT 1 FROM measurements WHERE environment_id=1 AND problem_id=1 AND source_id=1 AND configuration_id=1"};
  for (const char* query : queries) {
    sqlite::Statement plan(connection, std::string("EXPLAIN QUERY PLAN ") + query);
    while (plan.step()) {
      EXPECT_THAT(plan.text(3),
                  testing::Not(testing::MatchesRegex("SCAN (t|b|n|m|c|v|trials|measurements|verdicts).*")))
          << query;
    }
  }
}

TEST(Samples, RoundTrip) {
  const std::vector<std::vector<double>> cases = {{}, {1}, {0.1, 1e-300, 123456789.125, 0.30000000000000004}};
  for (const auto& samples : cases) EXPECT_EQ(unpack_samples(pack_samples(samples)), samples);
  EXPECT_EQ(error_of([] { unpack_samples(std::vector<std::byte>(9)); }).kind(), ErrorKind::bad_data);
}

TEST(Samples, TextOfEarlierVersions) {
  EXPECT_EQ(samples_from_text("[]"), std::vector<double>());
  EXPECT_EQ(samples_from_text("[0.1,1e-300,30000000000]"), (std::vector<double>{0.1, 1e-300, 3e10}));
  for (const char* text : {"", "[", "1,2", "[1,2", "[1,x]", "null"}) {
    EXPECT_EQ(error_of([&] { samples_from_text(text); }).kind(), ErrorKind::bad_data) << text;
  }
}

}  // namespace
}  // namespace wavetune::db
