#include "search/measure/contest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "search/measure/clock_watch.h"

namespace wavetune::measure {
namespace {

/// Kernels on one device, whose clock falls slowly and comes back.
struct FakeDevice {
  double clock = 1;
  double fall = 0;
  double noise = 0;
  std::mt19937 random{1};
  std::vector<std::size_t> order = {};

  TimedKernel kernel(std::size_t index, double launch_us) {
    return {[this, index, launch_us](int count) {
      order.push_back(index);
      clock = clock * (1 - fall) < 0.6 ? 1.0 : clock * (1 - fall);
      const double factor = 1 + noise * (static_cast<double>(random() % 1000) / 500 - 1);
      return launch_us * count * factor / clock;
    }};
  }
};

TEST(Contest, ThePairedOrderIsRightWhileTheClockFalls) {
  FakeDevice device{.fall = 0.01, .noise = 0.01};
  const std::vector<TimedKernel> kernels = {device.kernel(0, 10.2), device.kernel(1, 10), device.kernel(2, 10.4)};
  const auto results = time_in_turns(kernels, {}, 1);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_LT(results[1].median_us, results[0].median_us);
  EXPECT_LT(results[0].median_us, results[2].median_us);
  EXPECT_EQ(results[0].samples_us.size(), results[1].samples_us.size());
  EXPECT_EQ(results[0].samples_us.size(), results[2].samples_us.size());
}

TEST(Contest, EndsEarlyWhenTheAnswerIsClearAndAtTheCapWhenItIsNot) {
  FakeDevice device;
  const std::vector<TimedKernel> apart = {device.kernel(0, 10), device.kernel(1, 11)};
  EXPECT_EQ(time_in_turns(apart, {}, 1).front().samples_us.size(), 7u);
  FakeDevice noisy{.noise = 0.5};
  const std::vector<TimedKernel> alike = {noisy.kernel(0, 10), noisy.kernel(1, 10)};
  TimingLimits limits;
  limits.max_samples = 12;
  EXPECT_EQ(time_in_turns(alike, limits, 1).front().samples_us.size(), 12u);
}

TEST(Contest, EveryRoundHasAllKernelsInAnOrderDrawnAnew) {
  FakeDevice device;
  const std::vector<TimedKernel> kernels = {device.kernel(0, 10), device.kernel(1, 10), device.kernel(2, 10)};
  const std::size_t rounds = time_in_turns(kernels, {}, 3).front().samples_us.size();
  const std::size_t before = device.order.size() - 3 * rounds;
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto begin = device.order.begin() + static_cast<std::ptrdiff_t>(before + 3 * round);
    orders.insert(std::vector<std::size_t>(begin, begin + 3));
    EXPECT_EQ(std::set<std::size_t>(begin, begin + 3).size(), 3u);
  }
  EXPECT_GT(orders.size(), 1u);
}

/// Says what it is told to.
class FakeProbe : public ClockProbe {
 public:
  explicit FakeProbe(std::vector<ClockReading> readings) : readings_(std::move(readings)) {}
  ClockReading read() override { return readings_[std::min(next_++, readings_.size() - 1)]; }

 private:
  std::vector<ClockReading> readings_;
  std::size_t next_ = 0;
};

TEST(ClockWatch, KeepsTheMiddleClockAndTheHighestPowerOfATrial) {
  ClockWatch watch(std::make_unique<FakeProbe>(std::vector<ClockReading>{
                       {1900, 300, 40, false}, {1800, 500, 45, false}, {1850, 450, 44, false}}),
                   std::chrono::microseconds(0));
  watch.begin();
  for (int i = 0; i < 3; ++i) watch.look();
  const db::DeviceState expected{1850, 500, 45, 2};
  EXPECT_EQ(watch.state(2), expected);
  watch.begin();
  EXPECT_EQ(watch.state(0).clock_mhz, std::nullopt);
}

TEST(ClockWatch, AClockClearlyBelowTheBestOrTheDriversWordIsSlowedDown) {
  ClockWatch watch(std::make_unique<FakeProbe>(std::vector<ClockReading>{
                       {1900, {}, {}, false}, {1800, {}, {}, false}, {1400, {}, {}, false}, {1900, {}, {}, true}}),
                   std::chrono::microseconds(0));
  watch.begin();
  for (const bool slowed_down : {false, false, true, true}) {
    watch.look();
    EXPECT_EQ(watch.slowed_down(), slowed_down);
  }
}

TEST(ClockWatch, WithoutAProbeNothingIsKnown) {
  ClockWatch watch(nullptr);
  watch.begin();
  watch.look();
  EXPECT_FALSE(watch.slowed_down());
  EXPECT_EQ(watch.state(3), db::DeviceState{});
}

}  // namespace
}  // namespace wavetune::measure
