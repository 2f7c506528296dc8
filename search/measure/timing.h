// How a kernel's time is taken: a probe, warm-up, then samples of several launches each, until the answer stands: the
// median no longer moves, or the kernel has lost against the best one known.
#pragma once

#include <functional>
#include <vector>

#include "runtime/hip/provider.h"

namespace wavetune::measure {

/// All times in microseconds.
struct TimingLimits {
  double sample_us = 400;     ///< a sample is made of so many launches that it lasts about this long
  double warm_up_us = 4'000;  ///< launches before the first sample: clocks, caches, page faults
  double cap_us = 200'000;    ///< all samples of one configuration together
  int min_samples = 7;
  int max_samples = 60;
  double settled = 0.01;        ///< relative standard error of the median at which sampling ends
  double give_up_factor = 1.5;  ///< a probe that takes so many times the incumbent's time is the only sample
  double near_tie = 1.05;       ///< surely slower than so many times the incumbent: no more samples
};

/// A GPU's own clock is steady: shorter samples do, and its caches and clocks are warm from the configuration before.
TimingLimits default_timing(hip::ProviderKind kind);

struct TimingResult {
  std::vector<double> samples_us;  ///< time of one launch, a sample each
  double median_us = 0;
  int retaken = 0;  ///< samples that were thrown away since the device was slowed down
};

/// Runs `count` launches back to back and returns what they took together, in microseconds.
using TimedRun = std::function<double(int count)>;

struct TimedKernel {
  TimedRun run;
  int sets = 1;                            ///< of operands that runs walk through (Candidate::sets)
  std::function<bool()> slowed_down = {};  ///< whether the device was, during the last run; empty: never
};

/// `incumbent_us` <= 0: there is none, no early stop.
TimingResult time_kernel(const TimedKernel& kernel, const TimingLimits& limits, double incumbent_us);

/// About `count`, so that whole samples use all sets alike: a multiple of `sets`, or a part of it that is one of equal
/// parts.
int whole_rounds(int count, int sets);

/// Launches of a sample: as many as take `sample_us`, in whole rounds.
int launches_of_a_sample(double launch_us, double sample_us, int sets);

/// Of the values; the mean of the middle two when their number is even. 0 for none.
double median(std::vector<double> values);
/// Estimated standard error of the median over the median itself, from the interquartile range. Infinity below 3
/// values.
double relative_error_of_median(const std::vector<double>& values);

}  // namespace wavetune::measure
