#include "search/measure/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wavetune::measure {
namespace {

constexpr int most_launches_in_a_sample = 500;
// Without an interquartile range nothing is certain.
constexpr int fewest_samples = 3;
// Standard errors between a loser's median and what it would have to be.
constexpr double certainty = 3;
// A device that stays slow (its power limit) is measured as it is.
constexpr int most_retaken = 5;

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

TimingLimits default_timing(hip::ProviderKind kind) {
  TimingLimits limits;
  if (kind == hip::ProviderKind::cpu) return limits;
  limits.sample_us = 250;
  limits.warm_up_us = 500;
  limits.min_samples = 5;
  limits.max_samples = 40;
  return limits;
}

int whole_rounds(int count, int sets) {
  if (sets <= 1) return count;
  if (2 * count >= sets) return std::max(1, (count + sets / 2) / sets) * sets;
  const int parts = (sets + count - 1) / count;
  return (sets + parts - 1) / parts;
}

int launches_of_a_sample(double launch_us, double sample_us, int sets) {
  const double count = std::clamp(std::ceil(sample_us / launch_us), 1.0, double{most_launches_in_a_sample});
  return whole_rounds(static_cast<int>(count), sets);
}

TimingResult time_kernel(const TimedKernel& kernel, const TimingLimits& limits, double incumbent_us) {
  const auto hopeless = [&](double time_us) {
    return incumbent_us > 0 && time_us > limits.give_up_factor * incumbent_us;
  };
  TimingResult result;
  const auto only_sample = [&](double time_us) {
    result.samples_us = {time_us};
    result.median_us = time_us;
    return result;
  };
  // The first launch pays for lazy loading; the better of two says how long a launch is, about.
  const double first = kernel.run(1);
  const double second = kernel.run(1);
  double launch_us = std::max(1e-3, std::min(first, second));
  double warmed_us = first + second;
  if (hopeless(launch_us) && launch_us > limits.sample_us) return only_sample(launch_us);
  int count = launches_of_a_sample(launch_us, limits.sample_us, kernel.sets);
  const auto warm_up = [&] {
    const double took = kernel.run(count);
    warmed_us += std::max(took, 1.0);
    launch_us = std::max(1e-3, std::min(launch_us, took / count));
    count = launches_of_a_sample(launch_us, limits.sample_us, kernel.sets);
    return took;
  };
  const int probed = count;
  const double probe_us = warm_up() / probed;
  if (hopeless(probe_us)) return only_sample(probe_us);
  while (warmed_us < limits.warm_up_us) warm_up();

  double spent_us = 0;
  const auto surely_slower = [&] {
    if (incumbent_us <= 0) return false;
    const double error = certainty * relative_error_of_median(result.samples_us);
    return median(result.samples_us) * (1 - error) > limits.near_tie * incumbent_us;
  };
  while (static_cast<int>(result.samples_us.size()) < limits.max_samples) {
    const double took = kernel.run(count);
    spent_us += std::max(took, 1.0);
    if (kernel.slowed_down && kernel.slowed_down() && result.retaken < most_retaken) {
      ++result.retaken;
      continue;
    }
    result.samples_us.push_back(took / count);
    const int samples = static_cast<int>(result.samples_us.size());
    if (samples < fewest_samples) continue;
    if (surely_slower() || spent_us >= limits.cap_us) break;
    if (samples >= limits.min_samples && relative_error_of_median(result.samples_us) <= limits.settled) break;
  }
  result.median_us = median(result.samples_us);
  return result;
}

}  // namespace wavetune::measure
