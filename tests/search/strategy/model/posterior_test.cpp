#include "search/strategy/model/posterior.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/strategy/model/acquisition.h"
#include "search/strategy/random_numbers.h"

namespace wavetune::search {
namespace {

std::vector<templates::Parameter> parameters() {
  return {{"a", {1, 2, 3, 4, 5, 6, 8}, {}}, {"b", {1, 2, 4, 8}, {}}, {"c", {0, 1}, {}}};
}

/// All 56 points, one behind the other.
std::vector<std::uint16_t> all_points() {
  std::vector<std::uint16_t> flat;
  for (std::uint16_t a = 0; a < 7; ++a) {
    for (std::uint16_t b = 0; b < 4; ++b) {
      for (std::uint16_t c = 0; c < 2; ++c) flat.insert(flat.end(), {a, b, c});
    }
  }
  return flat;
}

double truth(const Point& x) { return std::cos(x[0]) + 0.3 * x[1] - 0.5 * x[2]; }

/// Mean and variance at `x` by solving the full system with Gaussian elimination.
std::pair<double, double> dense(const Kernel& kernel, const std::vector<Point>& points,
                                const std::vector<double>& values, std::span<const std::uint16_t> x) {
  const std::size_t n = points.size();
  std::vector<std::vector<double>> system(n, std::vector<double>(n + 2));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) system[i][j] = kernel(points[i], points[j]);
    system[i][i] += kernel.settings().noise;
    system[i][n] = values[i];
    system[i][n + 1] = kernel(points[i], x);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = system[r][i] / system[i][i];
      for (std::size_t c = i; c < n + 2; ++c) system[r][c] -= factor * system[i][c];
    }
  }
  double mean = 0;
  double variance = 1;
  for (std::size_t i = 0; i < n; ++i) {
    mean += kernel(points[i], x) * system[i][n] / system[i][i];
    variance -= kernel(points[i], x) * system[i][n + 1] / system[i][i];
  }
  return {mean, variance};
}

class PosteriorTest : public testing::Test {
 protected:
  PosteriorTest() : kernel_(parameters()), posterior_(kernel_, all_points(), 56) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 12; ++i) {
      points_.push_back({static_cast<std::uint16_t>(below(random, 7)), static_cast<std::uint16_t>(below(random, 4)),
                         static_cast<std::uint16_t>(below(random, 2))});
      values_.push_back(truth(points_.back()));
    }
  }

  void expect_dense() {
    const std::vector<std::uint16_t> pool = all_points();
    for (std::size_t p = 0; p < 56; ++p) {
      const auto [mean, variance] = dense(kernel_, points_, values_, std::span(pool).subspan(3 * p, 3));
      EXPECT_NEAR(posterior_.mean(Output::time)[p], mean, 2e-3) << p;
      EXPECT_NEAR(posterior_.variance()[p], variance, 2e-3) << p;
    }
  }

  Kernel kernel_;
  Posterior posterior_;
  std::vector<Point> points_;
  std::vector<double> values_;
};

TEST_F(PosteriorTest, EqualsTheSolutionOfTheFullSystem) {
  for (std::size_t i = 0; i < points_.size(); ++i)
    posterior_.set(posterior_.expect(points_[i]), Output::time, values_[i]);
  expect_dense();
}

TEST_F(PosteriorTest, TheOrderInWhichValuesArriveDoesNotMatter) {
  for (const Point& point : points_) posterior_.expect(point);
  for (std::size_t i = points_.size(); i-- > 0;) posterior_.set(i, Output::time, values_[i]);
  expect_dense();
}

TEST_F(PosteriorTest, AFailureMovesTheChanceOfFailureAndNotTheTimes) {
  for (std::size_t i = 0; i < 6; ++i) posterior_.set(posterior_.expect(points_[i]), Output::time, values_[i]);
  const std::vector<float> before(posterior_.mean(Output::time).begin(), posterior_.mean(Output::time).end());
  posterior_.set(posterior_.expect({6, 3, 1}), Output::failure, 1);
  EXPECT_EQ(before, std::vector<float>(posterior_.mean(Output::time).begin(), posterior_.mean(Output::time).end()));
  EXPECT_GT(posterior_.mean(Output::failure)[55], 0.5F);
}

TEST_F(PosteriorTest, AnExpectedPointLowersUncertaintyAndMovesNothing) {
  for (std::size_t i = 0; i < 6; ++i) posterior_.set(posterior_.expect(points_[i]), Output::time, values_[i]);
  const std::vector<float> before(posterior_.mean(Output::time).begin(), posterior_.mean(Output::time).end());
  const float uncertain = posterior_.variance()[55];
  posterior_.expect({6, 3, 1});
  EXPECT_EQ(before, std::vector<float>(posterior_.mean(Output::time).begin(), posterior_.mean(Output::time).end()));
  EXPECT_LT(posterior_.variance()[55], 0.5F * uncertain);
}

TEST(Acquisition, FallsWithTheMeanAndRisesWithTheDeviation) {
  double last = 1e9;
  for (double mean = -2; mean < 100; mean += 0.5) {
    const double now = expected_improvement(0, mean, 1);
    EXPECT_LT(now, last) << mean;
    EXPECT_GE(now, 0) << mean;
    last = now;
  }
  EXPECT_GT(expected_improvement(0, 1, 2), expected_improvement(0, 1, 1));
  // A standard normal improves on 0 by the density at 0.
  EXPECT_NEAR(expected_improvement(0, 0, 1), 0.398942, 1e-6);
}

TEST(Acquisition, ThePickIsTheLargestOfAllOpenOnes) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> offset;
    std::vector<float> mean;
    std::vector<float> variance;
    std::vector<float> failure;
    std::vector<unsigned char> open;
    // In every third round all means are far above the best.
    const float lift = round % 3 == 0 ? 40.0F : 0.0F;
    for (int i = 0; i < 50; ++i) {
      offset.push_back(static_cast<float>(uniform(random)));
      mean.push_back(lift + static_cast<float>(2 * uniform(random)));
      variance.push_back(static_cast<float>(uniform(random)));
      failure.push_back(static_cast<float>(2 * uniform(random) - 1));
      open.push_back(uniform(random) < 0.7 ? 1 : 0);
    }
    CandidateView candidates{offset, mean, variance, 0.1 + uniform(random), {}, 0.2, open};
    if (round % 2 == 0) candidates.failure = failure;
    const auto pick = most_promising(candidates, 0.4);
    ASSERT_TRUE(pick.has_value());
    EXPECT_TRUE(open[*pick]);
    for (std::size_t i = 0; i < 50; ++i) {
      if (open[i] == 0) continue;
      EXPECT_LE(candidates.promise(i, 0.4), candidates.promise(*pick, 0.4)) << round << " " << i;
    }
  }
}

TEST(Acquisition, NothingOpenGivesNothing) {
  const std::vector<float> zeros(3, 0.0F);
  const std::vector<unsigned char> closed(3, 0);
  EXPECT_EQ(most_promising({zeros, zeros, zeros, 1, {}, 0, closed}, 0), std::nullopt);
}

}  // namespace
}  // namespace wavetune::search
