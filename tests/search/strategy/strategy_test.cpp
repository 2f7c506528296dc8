#include "search/strategy/strategy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

namespace wavetune::search {
namespace {

Space small_space() {
  Space space;
  space.add("bm", {1, 2, 4, 8}).add("bn", {1, 2, 4}).require("tile is small", [](const Config& c) {
    return c.at("bm") * c.at("bn") <= 8;
  });
  return space;
}

Space large_space() {
  Space space;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) space.add(name, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return space;
}

/// A bowl with its minimum where every parameter is 7.
double bowl(const Config& config) {
  double time = 100;
  for (const auto& [name, value] : config) time += 10.0 * static_cast<double>((value - 7) * (value - 7));
  return time;
}

using Make = std::unique_ptr<Strategy> (*)(const Space&, const StrategyOptions&);

struct Case {
  const char* name;
  Make make;
};
class AnyStrategy : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, AnyStrategy,
                         testing::Values(Case{"random", make_random}, Case{"annealing", make_annealing},
                                         Case{"portfolio", make_portfolio}),
                         [](const auto& spec) { return spec.param.name; });

TEST_P(AnyStrategy, ProposesEveryValidConfigurationOnceAndThenNothing) {
  const Space space = small_space();
  auto strategy = GetParam().make(space, {.seed = 3});
  std::set<Config> seen;
  while (auto config = strategy->ask()) {
    EXPECT_TRUE(space.valid(*config));
    EXPECT_TRUE(seen.insert(*config).second) << db::to_text(*config);
    strategy->tell(*config, bowl(*config));
  }
  EXPECT_EQ(seen.size(), space.enumerate().size());
}

TEST_P(AnyStrategy, SameSeedAndAnswersGiveTheSameProposals) {
  const auto run = [&](std::uint64_t seed) {
    auto strategy = GetParam().make(large_space(), {.seed = seed});
    std::vector<Config> proposals;
    std::vector<Config> in_flight;
    for (int i = 0; i < 40; ++i) {
      in_flight.push_back(*strategy->ask());
      proposals.push_back(in_flight.back());
      if (in_flight.size() == 3) {
        for (const Config& config : in_flight) strategy->tell(config, bowl(config));
        in_flight.clear();
      }
    }
    return proposals;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_P(AnyStrategy, ConfigurationsOfEarlierRunsAreNotProposedAgain) {
  const Space space = small_space();
  auto strategy = GetParam().make(space, {});
  const std::vector<Config> all = space.enumerate();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) strategy->tell(all[i], std::nullopt);
  EXPECT_EQ(strategy->ask(), all.back());
  EXPECT_EQ(strategy->ask(), std::nullopt);
}

TEST_P(AnyStrategy, GivenConfigurationsComeFirstAndInvalidOnesAreSkipped) {
  const Config good{{"bm", 8}, {"bn", 1}};
  const Config broken{{"bm", 8}, {"bn", 4}};
  const Config other{{"bm", 1}, {"bn", 2}};
  auto strategy = GetParam().make(small_space(), {.first = {good, broken, good, other}});
  EXPECT_EQ(strategy->ask(), good);
  EXPECT_EQ(strategy->ask(), other);
}

TEST_P(AnyStrategy, GoesOnWhenEverythingFails) {
  auto strategy = GetParam().make(large_space(), {});
  for (int i = 0; i < 200; ++i) {
    const auto config = strategy->ask();
    ASSERT_TRUE(config.has_value());
    strategy->tell(*config, std::nullopt);
  }
}

double best_of(Make make, std::uint64_t seed, int trials) {
  auto strategy = make(large_space(), {.seed = seed, .expected_trials = trials});
  double best = INFINITY;
  for (int i = 0; i < trials; ++i) {
    const Config config = *strategy->ask();
    best = std::min(best, bowl(config));
    strategy->tell(config, bowl(config));
  }
  return best;
}

TEST(Annealing, FindsBetterConfigurationsThanRandomInALargeSmoothSpace) {
  double annealing = 0;
  double random = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    annealing += best_of(make_annealing, seed, 150);
    random += best_of(make_random, seed, 150);
  }
  EXPECT_LT(annealing, 0.6 * random);
}

TEST(Portfolio, TakesEverythingWhenTheBudgetCoversTheSpace) {
  EXPECT_EQ(make_portfolio(small_space(), {.expected_trials = 50})->name(), "random");
  EXPECT_EQ(make_portfolio(small_space(), {.expected_trials = 5})->name(), "annealing");
}

}  // namespace
}  // namespace wavetune::search
