#include "search/measure/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wavetune::measure {
namespace {

constexpr int most_launches_in_a_sample = 500;

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

double relative_error_of_median(const std::vector<double>& values) {
  if (values.size() < 3) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double middle = quantile(sorted, 0.5);
  if (!(middle > 0)) return std::numeric_limits<double>::infinity();
  // For normally distributed noise the deviation is IQR / 1.349, and the median's error is 1.253 x deviation / sqrt(n).
  const double deviation = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.349;
  return 1.253 * deviation / std::sqrt(static_cast<double>(values.size())) / middle;
}

TimingResult time_kernel(const TimedRun& run, const TimingLimits& limits, double incumbent_us) {
  const auto hopeless = [&](double time_us) {
    return incumbent_us > 0 && time_us > limits.give_up_factor * incumbent_us;
  };
  TimingResult result;
  // The first launch pays for lazy loading; the better of two says how long a launch is, about.
  const double first = run(1);
  const double second = run(1);
  double launch_us = std::max(1e-3, std::min(first, second));
  double warmed_us = first + second;
  if (hopeless(launch_us) && launch_us > limits.sample_us) {
    result.samples_us = {second, run(1)};
    result.median_us = median(result.samples_us);
    return result;
  }
  const auto launches_for = [&](double us) {
    return static_cast<int>(std::clamp(std::ceil(us / launch_us), 1.0, static_cast<double>(most_launches_in_a_sample)));
  };
  int count = launches_for(limits.sample_us);
  while (warmed_us < limits.warm_up_us) {
    const double took = run(count);
    warmed_us += std::max(took, 1.0);
    launch_us = std::max(1e-3, std::min(launch_us, took / count));
    count = launches_for(limits.sample_us);
  }
  double spent_us = 0;
  while (static_cast<int>(result.samples_us.size()) < limits.max_samples) {
    const double took = run(count);
    result.samples_us.push_back(took / count);
    spent_us += std::max(took, 1.0);
    const int samples = static_cast<int>(result.samples_us.size());
    if (samples >= 3 && hopeless(median(result.samples_us))) break;
    if (samples >= 3 && spent_us >= limits.cap_us) break;
    if (samples >= limits.min_samples && relative_error_of_median(result.samples_us) <= limits.settled) break;
  }
  result.median_us = median(result.samples_us);
  return result;
}

}  // namespace wavetune::measure
