// How alike two configurations are: the covariance of their log times in the Gaussian process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "templates/space.h"

namespace wavetune::search {

/// Of a space with D parameters that have more than one value ("active" ones). What the data decide (fit_kernel.h).
struct KernelSettings {
  std::vector<double> length;     ///< D: distance, in parts of the parameter's range, over which likeness falls to 1/e
  std::vector<double> alignment;  ///< D: how much a step in the power of two that divides the value counts
  double additive = 0.3;          ///< share of the sum of the parameters' effects; the rest is their product
  double noise = 1e-3;            ///< variance of a measurement, in parts of the signal's
};

/// k(x, y) = additive * mean_d k_d + (1 - additive) * prod_d k_d, with
/// k_d = exp(-|position difference| / length_d - alignment_d * |difference of powers of two|); k(x, x) = 1.
/// The position of a value mixes its rank in the list and its logarithm: both kinds of lists occur. The power of two
/// that divides a value is its own coordinate because sizes that are multiples of a wave, a cache line or a vector load
/// behave alike, near or far.
class Kernel {
 public:
  explicit Kernel(const std::vector<templates::Parameter>& parameters);

  /// Parameters with more than one value, by index.
  const std::vector<std::size_t>& active() const { return active_; }
  /// Where no data speak yet.
  KernelSettings default_settings() const;
  const KernelSettings& settings() const { return settings_; }
  void set(const KernelSettings& settings);
  void set_length(std::size_t dimension, double length);
  void set_alignment(std::size_t dimension, double alignment);
  void set_additive(double additive) { settings_.additive = additive; }
  void set_noise(double noise) { settings_.noise = noise; }
  /// False when the power of two tells nothing of this dimension's values.
  bool has_alignment(std::size_t dimension) const { return dimensions_[dimension].aligned; }

  /// Sum over the dimensions of the distance of positions, each 0 .. 1.
  double distance(std::span<const std::uint16_t> x, std::span<const std::uint16_t> y) const;

  /// Points are given as full value indices (all parameters).
  float operator()(std::span<const std::uint16_t> x, std::span<const std::uint16_t> y) const;
  /// k(x, y_i) for points that lie one behind the other, as many indices each as there are parameters.
  void row(std::span<const std::uint16_t> x, std::span<const std::uint16_t> points, std::span<float> out) const;

 private:
  struct Dimension {
    std::size_t values = 0;
    bool aligned = false;
    std::vector<float> position;
    std::vector<float> power_of_two;
    std::vector<float> table;  ///< values x values
  };
  void fill_table(std::size_t dimension);

  std::size_t parameters_;
  std::vector<std::size_t> active_;
  std::vector<Dimension> dimensions_;
  KernelSettings settings_;
};

}  // namespace wavetune::search
