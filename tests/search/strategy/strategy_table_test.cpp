// What every strategy does on spaces with holes, failing regions and several proposals in flight.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "search/strategy/strategy.h"

namespace wavetune::search {
namespace {

using SharedSpace = std::shared_ptr<const SearchSpace>;

/// 1 parameter without a choice, holes that no single parameter explains, 216 valid of 720.
SharedSpace constrained_space() {
  templates::Space space;
  space.add("block_x", {16, 32, 48, 64, 96, 128})
      .add("block_y", {1, 2, 4, 8, 16})
      .add("filter", {15})
      .add("tile_x", {1, 2, 3, 4})
      .add("padding", {0, 1})
      .add("unroll", {0, 2, 5})
      .require("threads", [](const Config& c) { return c.at("block_x") * c.at("block_y") <= 256; })
      .require("padding", [](const Config& c) { return c.at("padding") == 0 || c.at("block_x") % 32 != 0; })
      .require("unroll", [](const Config& c) { return c.at("unroll") == 0 || c.at("tile_x") % 2 == 0; });
  return std::make_shared<const SearchSpace>(space);
}

SharedSpace large_space() {
  static const SharedSpace shared = [] {
    templates::Space space;
    for (const char* name : {"a", "b", "c", "d"}) space.add(name, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    space.require("not all", [](const Config& c) { return c.at("a") + c.at("b") <= 18 && (c.at("c") != c.at("d")); });
    return std::make_shared<const SearchSpace>(space);
  }();
  return shared;
}

/// A valley with bumps: its floor is at a = 8, b = 9, c = 4, d = 10.
double bumpy(const SearchSpace& space, PointId point) {
  const Config config = space.config(point);
  const auto off = [&](const char* name, double best) { return (static_cast<double>(config.at(name)) - best) / 12; };
  const double bowl = std::pow(off("a", 8), 2) + std::pow(off("b", 9), 2) + std::pow(off("c", 4), 2) +
                      std::pow(off("d", 10), 2) + std::pow(off("a", 8) - off("b", 9), 2);
  const double bumps = 0.03 * static_cast<double>((config.at("a") * 7 + config.at("b") * 5 + config.at("c") * 3) % 4);
  return 10 * std::exp(3 * bowl + bumps);
}

/// A region of a quarter of the large space, in which the best is not.
bool fails(const SearchSpace& space, PointId point) { return space.config(point).at("a") > 8; }

class StrategyTable : public testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<Strategy> make(SharedSpace space, const StrategyOptions& options) {
    return make_strategy(GetParam(), std::move(space), options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, StrategyTable, testing::ValuesIn(strategy_names().begin(), strategy_names().end()),
                         [](const auto& spec) { return std::string(spec.param); });

TEST_P(StrategyTable, EveryPointOfAConstrainedSpaceComesOnceWithManyInFlightAndFailures) {
  const SharedSpace space = constrained_space();
  for (const std::size_t in_flight : {1U, 7U, 300U}) {
    auto strategy = make(space, {.seed = 5, .expected_trials = 60});
    std::set<PointId> seen;
    std::deque<PointId> untold;
    bool more = true;
    while (more || !untold.empty()) {
      while (more && untold.size() < in_flight) {
        const auto point = strategy->ask();
        more = point.has_value();
        if (!more) break;
        ASSERT_LT(*point, space->size());
        ASSERT_TRUE(seen.insert(*point).second) << *point << " twice, with " << in_flight << " in flight";
        untold.push_back(*point);
      }
      if (untold.empty()) break;
      const PointId told = untold.front();
      untold.pop_front();
      strategy->tell(told, told % 3 == 0 ? Observation{} : Observation{10.0 + static_cast<double>(told % 17)});
    }
    EXPECT_EQ(seen.size(), space->size()) << in_flight << " in flight";
    EXPECT_EQ(strategy->ask(), std::nullopt);
  }
}

TEST_P(StrategyTable, ASpaceOfOnePointIsUsedUpAfterOne) {
  templates::Space one;
  one.add("tile", {8});
  auto strategy = make(std::make_shared<const SearchSpace>(one), {.expected_trials = 10});
  EXPECT_EQ(strategy->ask(), 0U);
  EXPECT_EQ(strategy->ask(), std::nullopt);
  strategy->tell(0, {1.0});
  EXPECT_EQ(strategy->ask(), std::nullopt);
}

/// The best time of a run, as a multiple of the space's best.
double best_of(std::string_view name, std::uint64_t seed, int trials, std::size_t in_flight) {
  const SharedSpace space = large_space();
  auto strategy = make_strategy(name, space, {.seed = seed, .expected_trials = trials});
  double best = INFINITY;
  std::deque<PointId> untold;
  for (int i = 0; i < trials; ++i) {
    const auto point = strategy->ask();
    if (!point) break;
    untold.push_back(*point);
    if (untold.size() < in_flight) continue;
    const PointId told = untold.front();
    untold.pop_front();
    if (fails(*space, told)) {
      strategy->tell(told, {std::nullopt, 1.0});
    } else {
      best = std::min(best, bumpy(*space, told));
      strategy->tell(told, {bumpy(*space, told), 1.0});
    }
  }
  return best / 10;
}

/// All but those that learn nothing.
std::vector<std::string_view> learning_strategies() {
  std::vector<std::string_view> names(strategy_names().begin(), strategy_names().end());
  std::erase_if(names, [](std::string_view name) { return name == "random" || name == "exhaustive"; });
  return names;
}

class LearningStrategy : public StrategyTable {};
INSTANTIATE_TEST_SUITE_P(All, LearningStrategy, testing::ValuesIn(learning_strategies()),
                         [](const auto& spec) { return std::string(spec.param); });

TEST_P(LearningStrategy, FindsBetterThanRandomDespiteAFailingRegion) {
  for (const std::size_t in_flight : {1U, 4U}) {
    double strategy = 0;
    double random = 0;
    constexpr int seeds = 20;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      strategy += (best_of(GetParam(), seed, 120, in_flight) - 1) / seeds;
      random += (best_of("random", seed, 120, in_flight) - 1) / seeds;
    }
    EXPECT_LT(strategy, 0.6 * random) << in_flight << " in flight";
    RecordProperty("loss_with_" + std::to_string(in_flight),
                   std::to_string(strategy) + " of " + std::to_string(random));
  }
}

}  // namespace
}  // namespace wavetune::search
