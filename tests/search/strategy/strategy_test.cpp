#include "search/strategy/strategy.h"

#include <gtest/gtest.h>

#include <string>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

using SharedSpace = std::shared_ptr<const SearchSpace>;

SharedSpace small_space() {
  templates::Space space;
  space.add("bm", {1, 2, 4, 8}).add("bn", {1, 2, 4}).require("tile is small", [](const Config& c) {
    return c.at("bm") * c.at("bn") <= 8;
  });
  return std::make_shared<const SearchSpace>(space);
}

SharedSpace large_space() {
  static const SharedSpace shared = [] {
    templates::Space space;
    for (const char* name : {"a", "b", "c", "d", "e"}) space.add(name, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    return std::make_shared<const SearchSpace>(space);
  }();
  return shared;
}

/// A bowl with its minimum where every parameter is 7.
double bowl(const SearchSpace& space, PointId point) {
  double time = 100;
  for (const auto& [name, value] : space.config(point)) time += 10.0 * static_cast<double>((value - 7) * (value - 7));
  return time;
}

class AnyStrategy : public testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<Strategy> make(SharedSpace space, const StrategyOptions& options) {
    return make_strategy(GetParam(), std::move(space), options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, AnyStrategy, testing::ValuesIn(strategy_names().begin(), strategy_names().end()),
                         [](const auto& spec) { return std::string(spec.param); });

TEST_P(AnyStrategy, SameSeedAndAnswersGiveTheSameProposals) {
  const SharedSpace space = large_space();
  const auto run = [&](std::uint64_t seed) {
    auto strategy = make(space, {.seed = seed});
    std::vector<PointId> proposals;
    std::vector<PointId> in_flight;
    for (int i = 0; i < 40; ++i) {
      in_flight.push_back(*strategy->ask());
      proposals.push_back(in_flight.back());
      if (in_flight.size() == 3) {
        for (const PointId point : in_flight) strategy->tell(point, {bowl(*space, point)});
        in_flight.clear();
      }
    }
    return proposals;
  };
  EXPECT_EQ(run(1), run(1));
  if (GetParam() != "exhaustive") {
    EXPECT_NE(run(1), run(2));
  }
}

TEST_P(AnyStrategy, ConfigurationsOfEarlierRunsAreNotProposedAgain) {
  const SharedSpace space = small_space();
  auto strategy = make(space, {});
  for (PointId point = 0; point + 1 < space->size(); ++point) strategy->tell(point, {});
  EXPECT_EQ(strategy->ask(), space->size() - 1);
  EXPECT_EQ(strategy->ask(), std::nullopt);
}

TEST_P(AnyStrategy, GivenConfigurationsComeFirst) {
  auto strategy = make(small_space(), {.expected_trials = 5, .first = {6, 2, 6}});
  EXPECT_EQ(strategy->ask(), 6U);
  EXPECT_EQ(strategy->ask(), 2U);
}

TEST_P(AnyStrategy, GoesOnWhenEverythingFails) {
  auto strategy = make(large_space(), {});
  for (int i = 0; i < 200; ++i) {
    const auto point = strategy->ask();
    ASSERT_TRUE(point.has_value());
    strategy->tell(*point, {});
  }
}

TEST(MakeStrategy, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  try {
    make_strategy("magic", small_space(), {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("annealing"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace wavetune::search
