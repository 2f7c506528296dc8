#include "search/strategy/model/kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/strategy/model/fit_kernel.h"
#include "search/strategy/random_numbers.h"

namespace wavetune::search {
namespace {

std::vector<templates::Parameter> parameters() {
  return {{"tile", {16, 24, 32, 48, 64}, {}},
          {"fixed", {7}, {}},
          {"unroll", {0, 1}, {}},
          {"method", {0, 1, 2}, {"a", "b", "c"}}};
}

TEST(Kernel, IsOneAtAPointAndFallsWithDistance) {
  const Kernel kernel(parameters());
  const Point here = {0, 0, 0, 0};
  EXPECT_FLOAT_EQ(kernel(here, here), 1);
  EXPECT_GT(kernel(here, Point{0, 0, 1, 0}), kernel(here, Point{0, 0, 1, 1}));
  EXPECT_FLOAT_EQ(kernel(here, Point{2, 0, 1, 1}), kernel(Point{2, 0, 1, 1}, here));
}

TEST(Kernel, ParametersWithOneValueDoNotCount) {
  const Kernel kernel(parameters());
  EXPECT_EQ(kernel.active(), (std::vector<std::size_t>{0, 2, 3}));
}

TEST(Kernel, PowersOfTwoCountForSizesOnly) {
  const Kernel kernel(parameters());
  EXPECT_TRUE(kernel.has_alignment(0));
  EXPECT_FALSE(kernel.has_alignment(1)) << "a switch";
  EXPECT_FALSE(kernel.has_alignment(2)) << "a choice among words";
}

TEST(Kernel, WellAlignedSizesAreAlikeBeyondTheirDistance) {
  Kernel kernel(parameters());
  KernelSettings settings = kernel.default_settings();
  settings.length.assign(3, 20.0);
  settings.alignment.assign(3, 0.8);
  kernel.set(settings);
  // 64 is farther from 32 than 24 is, but divisible by it.
  EXPECT_GT(kernel(Point{2, 0, 0, 0}, Point{4, 0, 0, 0}), kernel(Point{2, 0, 0, 0}, Point{1, 0, 0, 0}));
}

TEST(Kernel, ARowIsTheSameAsOneByOne) {
  const Kernel kernel(parameters());
  const Point x = {1, 0, 1, 2};
  const std::vector<std::uint16_t> points = {0, 0, 0, 0, 4, 0, 1, 1, 1, 0, 1, 2};
  std::vector<float> row(3);
  kernel.row(x, points, row);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(row[i], kernel(x, std::span(points).subspan(i * 4, 4))) << i;
}

TEST(FitKernel, FindsTheParameterThatMatters) {
  std::vector<std::int64_t> values;
  for (int i = 1; i <= 12; ++i) values.push_back(i);
  Kernel kernel({{"matters", values, {}}, {"idle", values, {}}});
  std::mt19937_64 random(3);
  std::vector<Point> points;
  std::vector<double> observed;
  double mean = 0;
  for (int i = 0; i < 40; ++i) {
    points.push_back({static_cast<std::uint16_t>(below(random, 12)), static_cast<std::uint16_t>(below(random, 12))});
    observed.push_back(std::sin(0.6 * points.back()[0]));
    mean += observed.back() / 40;
  }
  for (double& value : observed) value -= mean;
  fit_kernel(kernel, points, observed);
  EXPECT_GT(kernel.settings().length[1], 2 * kernel.settings().length[0]);
}

}  // namespace
}  // namespace wavetune::search
