// How a kernel's time is taken: warm-up, then samples of several launches each until the median stands still.
#pragma once

#include <functional>
#include <vector>

namespace wavetune::measure {

/// All times in microseconds.
struct TimingLimits {
  double sample_us = 400;     ///< a sample is made of so many launches that it lasts about this long
  double warm_up_us = 4'000;  ///< launches before the first sample: clocks, caches, page faults
  double cap_us = 200'000;    ///< all samples of one configuration together
  int min_samples = 7;
  int max_samples = 60;
  double settled = 0.01;        ///< relative standard error of the median at which sampling ends
  double give_up_factor = 2.0;  ///< stop early when the median is so many times the incumbent's
};

struct TimingResult {
  std::vector<double> samples_us;  ///< time of one launch, a sample each
  double median_us = 0;
};

/// Runs `count` launches back to back and returns what they took together, in microseconds.
using TimedRun = std::function<double(int count)>;

/// `incumbent_us` <= 0: there is none, no early stop.
TimingResult time_kernel(const TimedRun& run, const TimingLimits& limits, double incumbent_us);

/// Of the values; the mean of the middle two when their number is even. 0 for none.
double median(std::vector<double> values);
/// Estimated standard error of the median over the median itself, from the interquartile range. Infinity below 3
/// values.
double relative_error_of_median(const std::vector<double>& values);

}  // namespace wavetune::measure
