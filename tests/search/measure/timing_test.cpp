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
  std::vector<int> counts = {};
  double elapsed_us = 0;

  TimedKernel run() {
    return {[this](int count) {
      launches += count;
      counts.push_back(count);
      const double factor = 1 + noise * (static_cast<double>(random() % 1000) / 500 - 1);
      const double took = launch_us * count * factor;
      elapsed_us += took;
      return took;
    }};
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

TEST(TimeKernel, MuchSlowerThanTheIncumbentGetsOneProbe) {
  FakeKernel slow{.launch_us = 5'000};
  const TimingResult result = time_kernel(slow.run(), {}, 1'000);
  EXPECT_LE(slow.launches, 2);
  EXPECT_DOUBLE_EQ(result.median_us, 5'000);

  FakeKernel short_slow{.launch_us = 30};
  EXPECT_EQ(time_kernel(short_slow.run(), {}, 10).samples_us, std::vector<double>{30});
  EXPECT_EQ(short_slow.counts.size(), 3u) << "one launch twice, then the probe";
}

TEST(TimeKernel, AClearLoserIsDecidedEarlierThanANearTie) {
  const TimingLimits limits;
  FakeKernel loser{.launch_us = 12};
  EXPECT_EQ(time_kernel(loser.run(), limits, 10).samples_us.size(), 3u);
  FakeKernel near{.launch_us = 10.2};
  EXPECT_EQ(static_cast<int>(time_kernel(near.run(), limits, 10).samples_us.size()), limits.min_samples);
  FakeKernel noisy_loser{.launch_us = 13, .noise = 0.3};
  FakeKernel noisy_near{.launch_us = 10.2, .noise = 0.3};
  const auto samples = [&](FakeKernel& kernel) { return time_kernel(kernel.run(), limits, 10).samples_us.size(); };
  EXPECT_LT(samples(noisy_loser), samples(noisy_near));
}

TEST(TimeKernel, SamplesUseAllSetsOfOperandsAlike) {
  EXPECT_EQ(whole_rounds(40, 1), 40);
  EXPECT_EQ(whole_rounds(40, 16), 48);
  EXPECT_EQ(whole_rounds(9, 16), 16);
  EXPECT_EQ(whole_rounds(4, 16), 4);
  EXPECT_EQ(whole_rounds(3, 16), 3);  // six parts: five of three and one of one
  EXPECT_EQ(whole_rounds(1, 14), 1);
  FakeKernel kernel{.launch_us = 10};
  TimedKernel timed = kernel.run();
  timed.sets = 14;
  time_kernel(timed, {}, 0);
  for (std::size_t i = 2; i < kernel.counts.size(); ++i) EXPECT_EQ(kernel.counts[i] % 14, 0) << kernel.counts[i];
}

TEST(TimeKernel, SamplesOfASlowedDownDeviceAreTakenAgainAFewTimes) {
  FakeKernel kernel{.launch_us = 10};
  TimedKernel timed = kernel.run();
  int asked = 0;
  timed.slowed_down = [&asked] { return ++asked <= 2; };
  const TimingLimits limits;
  const TimingResult result = time_kernel(timed, limits, 0);
  EXPECT_EQ(result.retaken, 2);
  EXPECT_EQ(static_cast<int>(result.samples_us.size()), limits.min_samples);
  timed.slowed_down = [] { return true; };
  EXPECT_FALSE(time_kernel(timed, limits, 0).samples_us.empty()) << "a device that stays slow is measured as it is";
}

TEST(TimeKernel, AClockThatDoesNotMoveGivesNoEndlessLoop) {
  int launches = 0;
  const TimingResult result = time_kernel({[&](int count) { return launches += count, 0.0; }}, {}, 0);
  EXPECT_FALSE(result.samples_us.empty());
}

}  // namespace
}  // namespace wavetune::measure
