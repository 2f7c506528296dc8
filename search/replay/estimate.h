// A score with its 95 % interval: by drawing the repeats again, with replacement (Efron's percentile bootstrap).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace wavetune::replay {

struct Estimate {
  double value = 0;
  std::vector<double> resampled;  ///< the value as other draws of the repeats would have it

  double low() const;   ///< the 2.5th percentile of the resampled values
  double high() const;  ///< the 97.5th
};

/// Of repeats' scores: their mean. `seed` tells estimates apart that are averaged later.
Estimate estimate_mean(std::span<const double> scores, int resamples, std::uint64_t seed);

/// Of any function of the repeats: `value_of` gets how often each of `repeats` counts.
Estimate estimate(std::size_t repeats, int resamples, std::uint64_t seed,
                  const std::function<double(const std::vector<double>& weights)>& value_of);

/// The mean of independent estimates that were resampled equally often.
Estimate mean_of(std::span<const Estimate> estimates);

}  // namespace wavetune::replay
