#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "search/strategy/first_design.h"
#include "search/strategy/moves.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

using SharedSpace = std::shared_ptr<const SearchSpace>;

SharedSpace tiles() {
  templates::Space space;
  std::vector<std::int64_t> sizes;
  for (int i = 1; i <= 32; ++i) sizes.push_back(8 * i);
  space.add("bm", sizes).add("bn", sizes).add("stages", {1, 2, 3, 4}).add("swizzle", {0, 1});
  space.require("tile fits", {"bm", "bn"}, [](const Config& c) { return c.at("bm") * c.at("bn") <= 16384; });
  return std::make_shared<const SearchSpace>(space);
}

/// Best at bm = 128, bn = 64, three stages, swizzled; sizes that are no multiples of 32 are 3 times slower.
double time_of(const Config& c) {
  double log_time = std::abs(std::log2(static_cast<double>(c.at("bm")) / 128)) +
                    0.7 * std::abs(std::log2(static_cast<double>(c.at("bn")) / 64)) +
                    0.2 * std::abs(static_cast<double>(c.at("stages")) - 3) + (c.at("swizzle") != 0 ? 0 : 0.3);
  if (c.at("bm") % 32 != 0 || c.at("bn") % 32 != 0) log_time += std::log(3.0);
  return 100 * std::exp(log_time);
}

/// Trials until one is within 5 % of the best (100 us).
int trials_to_near_best(const StrategyOptions& options, const SharedSpace& space, int most) {
  auto strategy = make_portfolio(space, options);
  for (int trial = 1; trial <= most; ++trial) {
    const PointId point = *strategy->ask();
    const double time = time_of(space->config(point));
    if (time < 105) return trial;
    strategy->tell(point, {time});
  }
  return most + 1;
}

TEST(Portfolio, FindsTheBestOfThousandsInTens) {
  const SharedSpace space = tiles();
  ASSERT_GT(space->size(), 4000U);
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    EXPECT_LT(trials_to_near_best({.seed = seed, .expected_trials = 100}, space, 100), 80) << seed;
}

TEST(Portfolio, ARightPredictionShortensTheSearchAndAWrongOneDoesNotEndIt) {
  const SharedSpace space = tiles();
  int without = 0;
  int right = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    without += trials_to_near_best({.seed = seed, .expected_trials = 100}, space, 200);
    right += trials_to_near_best({.seed = seed, .expected_trials = 100, .predicted_us = time_of}, space, 200);
    const auto wrong = [](const Config& c) { return 1e6 / time_of(c); };
    EXPECT_LE(trials_to_near_best({.seed = seed, .expected_trials = 100, .predicted_us = wrong}, space, 200), 200);
  }
  EXPECT_LT(right, 0.7 * without);
}

TEST(Portfolio, WhatTheModelSaysCannotRunComesLast) {
  const SharedSpace space = tiles();
  const auto predicted = [](const Config& c) {
    return c.at("stages") == 4 ? std::numeric_limits<double>::infinity() : time_of(c);
  };
  auto strategy = make_portfolio(space, {.seed = 1, .expected_trials = 40, .predicted_us = predicted});
  for (int trial = 0; trial < 20; ++trial) {
    const PointId point = *strategy->ask();
    const Config config = space->config(point);
    EXPECT_NE(config.at("stages"), 4) << trial;
    strategy->tell(point, {time_of(config)});
  }
}

TEST(Portfolio, LearnsWhichRegionFails) {
  const SharedSpace space = tiles();
  const auto fails = [](const Config& c) { return c.at("stages") == 4 || c.at("bn") >= 96; };
  double share = 0;
  for (PointId point = 0; point < space->size(); ++point)
    share += (fails(space->config(point)) ? 1.0 : 0.0) / static_cast<double>(space->size());
  int failed = 0;
  int trials = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto strategy = make_portfolio(space, {.seed = seed, .expected_trials = 80});
    for (int trial = 0; trial < 40; ++trial, ++trials) {
      const PointId point = *strategy->ask();
      const Config config = space->config(point);
      if (!fails(config)) {
        strategy->tell(point, {time_of(config)});
        continue;
      }
      strategy->tell(point, {});
      ++failed;
    }
  }
  EXPECT_LT(failed, 0.6 * share * trials);
}

TEST(Portfolio, ManyProposalsMayBeInFlight) {
  const SharedSpace space = tiles();
  auto strategy = make_portfolio(space, {.seed = 4, .expected_trials = 100});
  std::set<PointId> seen;
  double best = INFINITY;
  for (int round = 0; round < 12; ++round) {
    std::vector<PointId> flight;
    for (int i = 0; i < 8; ++i) flight.push_back(*strategy->ask());
    // Answers come in another order.
    for (auto point = flight.rbegin(); point != flight.rend(); ++point) {
      EXPECT_TRUE(seen.insert(*point).second);
      const double time = time_of(space->config(*point));
      best = std::min(best, time);
      strategy->tell(*point, {time});
    }
  }
  EXPECT_LT(best, 115);
}

TEST(Portfolio, TrialsThatCostMoreThanExpectedShortenTheFirstDesign) {
  const SharedSpace space = tiles();
  // The first proposal that depends on what was measured: until then both runs propose the same.
  const auto same_proposals = [&](double cost_s) {
    auto one = make_portfolio(space, {.seed = 3, .expected_trials = 120, .budget_s = 120});
    auto other = make_portfolio(space, {.seed = 3, .expected_trials = 120, .budget_s = 120});
    int same = 0;
    while (true) {
      const PointId point = *one->ask();
      if (point != *other->ask()) return same;
      ++same;
      one->tell(point, {time_of(space->config(point)), cost_s});
      other->tell(point, {1e7 / time_of(space->config(point)), cost_s});
    }
  };
  EXPECT_GE(same_proposals(1), 12);
  EXPECT_LT(same_proposals(20), 12);
}

TEST(FirstDesign, GrowsWithTheBudgetWithinLimits) {
  EXPECT_EQ(design_size(8), 3);
  EXPECT_EQ(design_size(60), 6);
  EXPECT_EQ(design_size(5000), 12);
}

TEST(FirstDesign, PrefersSizesThatArePowersOfTwo) {
  const SharedSpace space = tiles();
  Untried untried(space, 1);
  const Kernel kernel(space->parameters());
  int even = 0;
  for (int i = 0; i < 40; ++i) {
    const Config config = space->config(*spread_out(untried, kernel, {}, {}));
    if (std::has_single_bit(static_cast<std::uint64_t>(config.at("bm")))) ++even;
  }
  // Six of the 32 sizes are.
  EXPECT_GT(even, 20);
}

TEST(Moves, CandidatesAreUntriedAndDifferent) {
  const SharedSpace space = tiles();
  Untried untried(space, 1);
  std::vector<PointId> elites;
  for (int i = 0; i < 6; ++i) elites.push_back(*untried.draw());
  const std::vector<PointId> kept = {1, 2, 3};
  const std::vector<MovedPoint> candidates = Moves().candidates(untried, elites, kept, 800);
  EXPECT_GT(candidates.size(), 600U);
  std::set<PointId> ids;
  std::set<Move> moves;
  for (const MovedPoint& candidate : candidates) {
    EXPECT_TRUE(untried.contains(candidate.id));
    EXPECT_TRUE(ids.insert(candidate.id).second);
    moves.insert(candidate.move);
  }
  EXPECT_EQ(moves, (std::set<Move>{Move::kept, Move::change, Move::recombine, Move::random}));
}

TEST(Moves, WhatSucceedsGetsMoreRoom) {
  Moves moves;
  const auto before = moves.shares();
  for (int i = 0; i < 20; ++i) {
    moves.credit(Move::recombine, true);
    moves.credit(Move::random, false);
  }
  const auto after = moves.shares();
  EXPECT_GT(after[static_cast<std::size_t>(Move::recombine)], before[static_cast<std::size_t>(Move::recombine)]);
  EXPECT_LT(after[static_cast<std::size_t>(Move::random)], before[static_cast<std::size_t>(Move::random)]);
  double sum = 0;
  for (const double share : after) {
    EXPECT_GE(share, 0.1);
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace wavetune::search
