#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "db/base/error.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/kernels/coverage.h"
#include "runtime/kernels/kernel_table.h"
#include "templates/registry.h"

namespace wavetune::kernels {
namespace {

const db::Environment environment{"test device", "cpu-test", 2, "cpu 0.1", "g++", "12"};

templates::DeviceLimits limits() {
  templates::DeviceLimits result;
  result.arch = "cpu-test";
  return result;
}

db::Problem gemm(std::int64_t m, std::int64_t n = 64) {
  return {"gemm", "f32", {{"batch", 1}, {"k", 64}, {"m", m}, {"n", n}}};
}

db::Problem attention(std::int64_t m, std::int64_t slots) {
  return {
      "mla_attention", "f32", {{"heads", 8}, {"latent", 32}, {"m", m}, {"rope", 16}, {"slots", slots}, {"topk", 16}}};
}

/// A database with winners for some problems: the n-th valid configuration of each, so that they differ.
class WinnerIndexTest : public testing::Test {
 protected:
  WinnerIndexTest()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("wavetune_winner_index_" + std::to_string(::getpid()) + ".db")) {
    std::filesystem::remove(path_);
    database_.emplace(db::Database::open(path_, db::OpenMode::create));
  }
  ~WinnerIndexTest() override {
    database_.reset();
    std::filesystem::remove(path_);
  }

  db::Config add(const db::Problem& problem, std::size_t nth, std::string hash = {}) {
    const templates::Operator& op = templates::get_operator(problem.op);
    if (hash.empty()) hash = templates::source_hash(op);
    const db::Config config = op.space(problem, limits()).enumerate().at(nth);
    database_->set_current_source(problem.op, hash);
    db::Trial trial;
    trial.problem = problem;
    trial.config = config;
    trial.source_hash = hash;
    trial.median_us = 5;
    trial.samples_us = {5};
    database_->add_trial(environment, trial);
    return config;
  }
  Choice choose(const db::Problem& problem) { return WinnerIndex(&*database_, environment).choose(problem, limits()); }

  std::filesystem::path path_;
  std::optional<db::Database> database_;
};

TEST_F(WinnerIndexTest, TellsTheBucketFromTheShapeItself) {
  add(gemm(4), 0);
  add(gemm(6), 1);
  add(gemm(16), 2);
  struct Case {
    std::int64_t m, lookup;
    Match expected;
  };
  for (const Case& c : {Case{4, 4, Match::exact}, Case{3, 4, Match::bucket}, Case{6, 8, Match::nearest},
                        Case{12, 16, Match::bucket}, Case{20, 32, Match::nearest}, Case{1, 1, Match::nearest},
                        // The kernel of the rounded shape is, by chance, the one that was tuned for the shape itself.
                        Case{16, 32, Match::exact}}) {
    EXPECT_EQ(match_of(choose(gemm(c.lookup)), gemm(c.m)), c.expected) << c.m;
  }
  EXPECT_EQ(match_of(choose(gemm(4, 128)), gemm(3, 128)), Match::fallback);
}

TEST_F(WinnerIndexTest, NeighboursAreTheNearestOnBothSides) {
  const WinnerIndex nothing(nullptr, environment);
  EXPECT_TRUE(nothing.neighbours(gemm(8), limits(), 4).empty());
  std::map<std::int64_t, db::Config> configs;
  std::size_t nth = 0;
  for (const std::int64_t m : {1, 2, 4, 16, 32, 64}) configs[m] = add(gemm(m), nth++);
  add(gemm(8, 128), 0);
  const WinnerIndex index(&*database_, environment);
  const auto from = [&](std::int64_t m, std::size_t each_side) {
    std::vector<std::string> keys;
    for (const Choice& choice : index.neighbours(gemm(m), limits(), each_side)) keys.push_back(choice.from);
    return keys;
  };
  EXPECT_EQ(from(8, 2), (std::vector<std::string>{gemm(16).key(), gemm(32).key(), gemm(4).key(), gemm(2).key()}));
  EXPECT_EQ(from(100, 2), (std::vector<std::string>{gemm(64).key(), gemm(32).key()}));
  EXPECT_EQ(from(8, 9).size(), 6u);
  for (const std::int64_t m : {1, 3, 8, 20, 64, 100}) {
    const Choice first = index.neighbours(gemm(m), limits(), 1).front();
    const Choice chosen = index.choose(gemm(m), limits());
    EXPECT_EQ(first.from, chosen.from) << "serving's choice comes first";
    EXPECT_EQ(first.match, chosen.match);
  }
}

TEST_F(WinnerIndexTest, NeighboursOfOneConfigurationCountOnce) {
  for (const std::int64_t m : {1, 2, 4}) add(gemm(m), 3);
  EXPECT_EQ(WinnerIndex(&*database_, environment).neighbours(gemm(8), limits(), 4).size(), 1u);
}

TEST_F(WinnerIndexTest, FallsBackWithoutADatabaseOrAWinner) {
  const Choice choice = WinnerIndex(nullptr, environment).choose(gemm(4), limits());
  EXPECT_EQ(choice.match, Match::fallback);
  EXPECT_EQ(choice.config, templates::get_operator("gemm").default_config(gemm(4), limits()));
  EXPECT_EQ(choice.from, "");
  add(gemm(4), 0);
  EXPECT_EQ(choose(gemm(4, 128)).match, Match::fallback);
}

TEST_F(WinnerIndexTest, PrefersTheSameThenTheNextLargerThenTheClosestSmallerM) {
  const db::Config at4 = add(gemm(4), 0), at16 = add(gemm(16), 1), at64 = add(gemm(64), 2);
  struct Case {
    std::int64_t m;
    Match match;
    const db::Config& config;
  };
  for (const Case& c : {Case{16, Match::exact, at16}, Case{1, Match::nearest, at4}, Case{5, Match::nearest, at16},
                        Case{17, Match::nearest, at64}, Case{500, Match::nearest, at64}}) {
    const Choice choice = choose(gemm(c.m));
    EXPECT_EQ(choice.match, c.match) << c.m;
    EXPECT_EQ(choice.config, c.config) << c.m;
  }
  EXPECT_EQ(choose(gemm(5)).from, gemm(16).key());
}

TEST_F(WinnerIndexTest, CacheCapacityDoesNotMakeAMatchInexact) {
  const db::Config config = add(attention(8, 1024), 3);
  const Choice choice = choose(attention(8, 99840));
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(choice.config, config);
  EXPECT_EQ(choose(attention(4, 1024)).match, Match::nearest);
}

TEST_F(WinnerIndexTest, IgnoresWinnersOfOtherSourcesAndEnvironments) {
  add(gemm(4), 0, "hash of an older template");
  EXPECT_EQ(choose(gemm(4)).match, Match::fallback);
  add(gemm(4), 1);
  EXPECT_EQ(choose(gemm(4)).match, Match::exact);
  db::Environment other = environment;
  other.compiler_version = "13";
  EXPECT_EQ(WinnerIndex(&*database_, other).choose(gemm(4), limits()).match, Match::fallback);
}

using Moves = WinnerIndex::Moves;
constexpr std::size_t weights_of_gemm = 1;  // operand b

/// An MI355X's space: there weights may be shuffled.
class WeightOrderTest : public WinnerIndexTest {
 protected:
  static templates::DeviceLimits gpu() {
    return {.arch = "gfx950", .wave_size = 64, .max_block_threads = 1024, .lds_bytes = 163840, .cu_count = 256};
  }
  static db::Problem product(std::int64_t m) {
    return {"gemm", "bf16", {{"batch", 1}, {"k", 1024}, {"m", m}, {"n", 256}}};
  }
  void add_winner(std::int64_t m, std::int64_t shuffled) {
    const templates::Operator& op = templates::get_operator("gemm");
    db::Trial trial;
    trial.problem = product(m);
    trial.config = op.default_config(trial.problem, gpu());
    trial.config["shuffled"] = shuffled;
    ASSERT_TRUE(op.space(trial.problem, gpu()).valid(trial.config));
    trial.source_hash = templates::source_hash(op);
    trial.median_us = 5;
    trial.samples_us = {5};
    database_->set_current_source("gemm", trial.source_hash);
    database_->add_trial(environment, trial);
  }
  Orders preferred(Moves weights) const {
    return WinnerIndex(&*database_, environment)
        .preferred_orders(product(1), gpu(), {Moves::not_a_weight, weights, Moves::not_a_weight});
  }
};

TEST_F(WeightOrderTest, FollowsMostWinnersOfTheFamily) {
  using templates::Arrangement;
  EXPECT_EQ(preferred(Moves::may_move)[weights_of_gemm], Arrangement::rows) << "nothing is tuned";
  add_winner(1, 1);
  add_winner(16, 1);
  add_winner(256, 0);
  EXPECT_EQ(preferred(Moves::may_move)[weights_of_gemm], Arrangement::shuffled_weights);
  EXPECT_EQ(preferred(Moves::may_move)[0], std::nullopt) << "activations are not laid out at load";
  EXPECT_EQ(preferred(Moves::stays)[weights_of_gemm], Arrangement::rows);
}

TEST_F(WeightOrderTest, ChoosesOnlyWhatReadsTheWeightsAsTheyLie) {
  add_winner(1, 1);
  add_winner(256, 0);
  WinnerIndex index(&*database_, environment);
  const templates::Operator& op = templates::get_operator("gemm");
  for (const templates::Arrangement lie : {templates::Arrangement::rows, templates::Arrangement::shuffled_weights}) {
    Orders orders(3);
    orders[weights_of_gemm] = lie;
    index.set_orders(product(1), orders);
    for (const std::int64_t m : {1, 8, 64, 256, 4096}) {
      const Choice choice = index.choose(product(m), gpu());
      EXPECT_EQ(op.arrangement(product(m), choice.config, weights_of_gemm), lie) << m;
      EXPECT_TRUE(op.space(product(m), gpu()).valid(choice.config)) << m;
    }
  }
  Orders shuffled(3);
  shuffled[weights_of_gemm] = templates::Arrangement::shuffled_weights;
  index.set_orders(product(1), shuffled);
  EXPECT_EQ(index.choose(product(1), gpu()).match, Match::exact);
  EXPECT_NE(index.choose(product(256), gpu()).match, Match::exact) << "its winner reads rows";
  const std::vector<db::Problem> problems{product(1), product(256)};
  EXPECT_EQ(coverage_of(index, problems, gpu()).exact, 1) << "coverage counts what will really be run";
}

/// On NVIDIA only the kernels for few rows read shuffled weights.
TEST_F(WeightOrderTest, TakesNoOrderThatSomeNumberOfRowsCannotRead) {
  const templates::DeviceLimits hopper = hip::cuda::limits_of_arch("sm_90a");
  const templates::Operator& op = templates::get_operator("gemm");
  int shuffled = 0;
  for (const std::int64_t m : {1, 4, 16}) {
    db::Trial trial;
    trial.problem = product(m);
    op.space(trial.problem, hopper).visit([&](const db::Config& config) {
      trial.config = config;
      return op.arrangement(trial.problem, config, weights_of_gemm) != templates::Arrangement::shuffled_weights;
    });
    shuffled += op.arrangement(trial.problem, trial.config, weights_of_gemm) != templates::Arrangement::rows ? 1 : 0;
    trial.source_hash = templates::source_hash(op);
    trial.median_us = 5;
    trial.samples_us = {5};
    database_->set_current_source("gemm", trial.source_hash);
    database_->add_trial(environment, trial);
  }
  ASSERT_GT(shuffled, 0) << "no kernel for sm_90a reads shuffled weights: nothing is tested here";
  WinnerIndex index(&*database_, environment);
  const Orders orders =
      index.preferred_orders(product(1), hopper, {Moves::not_a_weight, Moves::may_move, Moves::not_a_weight});
  index.set_orders(product(1), orders);
  for (const std::int64_t m : {1, 64, 256, 4096}) {
    EXPECT_NO_THROW({
      const Choice choice = index.choose(product(m), hopper);
      EXPECT_EQ(op.arrangement(product(m), choice.config, weights_of_gemm), orders[weights_of_gemm]) << m;
    });
  }
}

}  // namespace
}  // namespace wavetune::kernels
