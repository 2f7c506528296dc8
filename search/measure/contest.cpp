#include "search/measure/contest.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace wavetune::measure {
namespace {

constexpr int fewest_rounds = 7;
constexpr int most_rounds_again = 5;
// Relative standard error of a ratio at which two kernels count as equal: a third of what is worth telling apart.
constexpr double settled_ratio = 0.003;
constexpr double certainty = 3;

/// Of each kernel's samples to those of `leader`, whether more rounds would change little.
bool decided(const std::vector<TimingResult>& results, std::size_t leader) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (k == leader) continue;
    std::vector<double> ratios;
    for (std::size_t round = 0; round < results[k].samples_us.size(); ++round)
      ratios.push_back(results[k].samples_us[round] / std::max(1e-6, results[leader].samples_us[round]));
    const double error = relative_error_of_median(ratios);
    if (error > settled_ratio && median(ratios) * (1 - certainty * error) < 1) return false;
  }
  return true;
}

}  // namespace

std::vector<TimingResult> time_in_turns(std::span<const TimedKernel> kernels, const TimingLimits& limits,
                                        std::uint64_t seed) {
  std::vector<TimingResult> results(kernels.size());
  std::vector<int> counts;
  for (const TimedKernel& kernel : kernels) {
    const double once = std::max(1e-3, kernel.run(1));
    const int probed = launches_of_a_sample(once, limits.sample_us, kernel.sets);
    const double launch_us = std::max(1e-3, kernel.run(probed) / probed);
    counts.push_back(launches_of_a_sample(std::min(once, launch_us), limits.sample_us, kernel.sets));
    (void)kernel.run(counts.back());
  }
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double spent_us = 0;
  int again = 0;
  for (int round = 0; round < limits.max_samples; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> times(kernels.size());
    bool slowed_down = false;
    for (const std::size_t k : order) {
      const double took = kernels[k].run(counts[k]);
      spent_us += std::max(took, 1.0);
      times[k] = took / counts[k];
      slowed_down = slowed_down || (kernels[k].slowed_down && kernels[k].slowed_down());
    }
    if (slowed_down && again < most_rounds_again) {
      ++again;
      --round;
      continue;
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      results[k].samples_us.push_back(times[k]);
      results[k].median_us = median(results[k].samples_us);
      results[k].retaken = again;
    }
    const auto fastest = std::ranges::min_element(results, {}, &TimingResult::median_us);
    const int rounds = round + 1;
    if (rounds >= 3 && spent_us >= limits.cap_us * static_cast<double>(kernels.size())) break;
    if (rounds >= fewest_rounds && decided(results, static_cast<std::size_t>(fastest - results.begin()))) break;
  }
  return results;
}

}  // namespace wavetune::measure
