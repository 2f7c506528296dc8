#include "search/measure/timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wavetune::measure {
namespace {

/// A kernel of a given time with noise, on a clock of its own.
struct FakeKernel {
  double launch_us = 10;
  double noise = 0;
  std::mt19937 random{1};
  int launches = 0;
  double elapsed_us = 0;

  TimedRun run() {
    return [this](int count) {
      launches += count;
      const double factor = 1 + noise * (static_cast<double>(random() % 1000) / 500 - 1);
      const double took = launch_us * count * factor;
      elapsed_us += took;
      return took;
    };
  }
};

TEST(Median, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(RelativeError, FallsWithSamplesAndIsInfiniteForFew) {
  EXPECT_TRUE(std::isinf(relative_error_of_median({1, 1})));
  EXPECT_EQ(relative_error_of_median({2, 2, 2, 2}), 0);
  std::vector<double> few, many;
  for (int i = 0; i < 8; ++i) few.push_back(100 + i % 4);
  for (int i = 0; i < 80; ++i) many.push_back(100 + i % 4);
  EXPECT_LT(relative_error_of_median(many), relative_error_of_median(few));
}

TEST(TimeKernel, SteadyKernelsSettleAtOnce) {
  FakeKernel kernel;
  const TimingLimits limits;
  const TimingResult result = time_kernel(kernel.run(), limits, 0);
  EXPECT_DOUBLE_EQ(result.median_us, 10);
  EXPECT_EQ(static_cast<int>(result.samples_us.size()), limits.min_samples);
  EXPECT_GE(kernel.elapsed_us, limits.warm_up_us);
}

TEST(TimeKernel, NoisyKernelsGetMoreSamplesUpToTheLimit) {
  FakeKernel kernel{.launch_us = 10, .noise = 0.5};
  TimingLimits limits;
  limits.settled = 1e-6;
  const TimingResult result = time_kernel(kernel.run(), limits, 0);
  EXPECT_EQ(static_cast<int>(result.samples_us.size()), limits.max_samples);
  EXPECT_NEAR(result.median_us, 10, 2);
}

TEST(TimeKernel, TheCapEndsLongKernels) {
  FakeKernel kernel{.launch_us = 90'000, .noise = 0.5};
  const TimingResult result = time_kernel(kernel.run(), {}, 0);
  EXPECT_EQ(result.samples_us.size(), 3u);
}

TEST(TimeKernel, MuchSlowerThanTheIncumbentIsGivenUpEarly) {
  FakeKernel slow{.launch_us = 5'000};
  const TimingResult result = time_kernel(slow.run(), {}, 1'000);
  EXPECT_LE(slow.launches, 3);
  EXPECT_DOUBLE_EQ(result.median_us, 5'000);

  FakeKernel short_slow{.launch_us = 30};
  EXPECT_EQ(time_kernel(short_slow.run(), {}, 10).samples_us.size(), 3u);
  FakeKernel near{.launch_us = 15};
  EXPECT_EQ(time_kernel(near.run(), {}, 10).samples_us.size(), 7u);
}

TEST(TimeKernel, AClockThatDoesNotMoveGivesNoEndlessLoop) {
  int launches = 0;
  const TimingResult result = time_kernel([&](int count) { return launches += count, 0.0; }, {}, 0);
  EXPECT_FALSE(result.samples_us.empty());
}

}  // namespace
}  // namespace wavetune::measure
