#include "search/strategy/extra_trees.h"

#include <gtest/gtest.h>

namespace wavetune::search {
namespace {

constexpr std::size_t both[] = {0, 1};

TEST(ExtraTrees, OneSampleIsTheAnswerEverywhere) {
  std::mt19937_64 random(1);
  ExtraTrees forest;
  EXPECT_FALSE(forest.fitted());
  forest.fit(both, std::vector<Point>{{3, 4}}, std::vector<double>{2.5}, random);
  EXPECT_TRUE(forest.fitted());
  for (const Point& point : {Point{3, 4}, Point{0, 9}}) {
    EXPECT_DOUBLE_EQ(forest.estimate(point).mean, 2.5);
    EXPECT_DOUBLE_EQ(forest.estimate(point).deviation, 0);
  }
}

TEST(ExtraTrees, SamplesAreReproducedAndPointsBetweenThemAreUncertain) {
  std::mt19937_64 random(1);
  std::vector<Point> points;
  std::vector<double> values;
  for (const std::uint16_t a : {0, 5, 10}) {
    for (const std::uint16_t b : {0, 5, 10}) {
      points.push_back({a, b});
      values.push_back(a - 2.0 * b);
    }
  }
  ExtraTrees forest;
  forest.fit(both, points, values, random);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(forest.estimate(points[i]).mean, values[i], 1e-5);
    EXPECT_NEAR(forest.estimate(points[i]).deviation, 0, 1e-3);
  }
  const auto between = forest.estimate({7, 2});
  EXPECT_GT(between.deviation, 0.5);
  EXPECT_GT(between.mean, 0);
  EXPECT_LT(between.mean, 10);
}

TEST(ExtraTrees, SamplesThatDifferOnlyInAParameterThatIsNotSplitByAreAveraged) {
  std::mt19937_64 random(1);
  constexpr std::size_t first[] = {0};
  ExtraTrees forest;
  forest.fit(first, std::vector<Point>{{1, 0}, {1, 9}}, std::vector<double>{1, 4}, random);
  EXPECT_DOUBLE_EQ(forest.estimate({1, 0}).mean, 2.5);
}

TEST(ExtraTrees, TheSameSeedGivesTheSameForest) {
  const std::vector<Point> points = {{0, 0}, {4, 1}, {8, 2}, {3, 7}};
  const std::vector<double> values = {1, 2, 3, 5};
  const auto mean = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ExtraTrees forest;
    forest.fit(both, points, values, random);
    return forest.estimate({2, 4}).mean;
  };
  EXPECT_EQ(mean(1), mean(1));
  EXPECT_NE(mean(1), mean(2));
}

}  // namespace
}  // namespace wavetune::search
