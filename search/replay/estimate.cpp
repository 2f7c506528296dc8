#include "search/replay/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "search/strategy/random_numbers.h"

namespace wavetune::replay {
namespace {

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const double position = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), values.begin() + below, values.end());
  const double low = values[static_cast<std::size_t>(below)];
  if (below + 1 == std::ssize(values)) return low;
  const double high = *std::min_element(values.begin() + below + 1, values.end());
  return low + (position - static_cast<double>(below)) * (high - low);
}

}  // namespace

double Estimate::low() const { return resampled.empty() ? value : percentile(resampled, 0.025); }
double Estimate::high() const { return resampled.empty() ? value : percentile(resampled, 0.975); }

Estimate estimate_mean(std::span<const double> scores, int resamples, std::uint64_t seed) {
  return estimate(scores.size(), resamples, seed, [scores](const std::vector<double>& weights) {
    return std::inner_product(scores.begin(), scores.end(), weights.begin(), 0.0) / static_cast<double>(scores.size());
  });
}

Estimate estimate(std::size_t repeats, int resamples, std::uint64_t seed,
                  const std::function<double(const std::vector<double>& weights)>& value_of) {
  Estimate result;
  std::vector<double> weights(repeats, 1.0);
  result.value = value_of(weights);
  std::mt19937_64 random(seed);
  for (int i = 0; i < resamples; ++i) {
    std::fill(weights.begin(), weights.end(), 0.0);
    for (std::size_t draw = 0; draw < repeats; ++draw) weights[search::below(random, repeats)] += 1;
    result.resampled.push_back(value_of(weights));
  }
  return result;
}

Estimate mean_of(std::span<const Estimate> estimates) {
  Estimate mean;
  if (estimates.empty()) return mean;
  const auto count = static_cast<double>(estimates.size());
  mean.resampled.resize(estimates.front().resampled.size());
  for (const Estimate& part : estimates) {
    mean.value += part.value / count;
    for (std::size_t i = 0; i < mean.resampled.size(); ++i) mean.resampled[i] += part.resampled[i] / count;
  }
  return mean;
}

}  // namespace wavetune::replay
