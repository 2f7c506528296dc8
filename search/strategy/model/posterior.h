// What a Gaussian process expects of a fixed pool of candidates, kept up to date observation by observation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/model/kernel.h"

namespace wavetune::search {

/// What is modelled of a configuration, both with the same kernel.
enum class Output : unsigned char { time, failure };

/// Values have mean 0 before anything is observed. An observation costs O(n^2 + n * pool) when it is the n-th.
class Posterior {
 public:
  /// `pool`: candidates one behind the other, as many value indices each as the space has parameters.
  Posterior(const Kernel& kernel, std::vector<std::uint16_t> pool, std::size_t pool_size);

  std::size_t observations() const { return points_.size(); }
  /// Takes a point whose value is not known yet: uncertainty around it falls, expectations stay. Returns its index.
  std::size_t expect(const Point& point);
  /// Gives (or corrects) a value of an observation. The other output stays as unknown as it was.
  void set(std::size_t index, Output output, double value);

  /// Of each candidate.
  std::span<const float> mean(Output output) const { return mean_[static_cast<std::size_t>(output)]; }
  /// In parts of the signal's variance, 0 .. 1.
  std::span<const float> variance() const { return variance_; }
  /// Standard deviation of the times' signal, estimated from the observations.
  double scale() const;

 private:
  struct Observed {
    Point point;
    std::vector<float> factor;      ///< row of the Cholesky factor, to the diagonal
    std::vector<float> solved;      ///< row of (factor^-1) K(observations, pool)
    std::array<float, 2> weight{};  ///< for each output, the entry of (factor^-1) values
    std::array<float, 2> value{};
    std::array<bool, 2> known{};
  };

  const Kernel& kernel_;
  std::vector<std::uint16_t> pool_;
  std::vector<Observed> points_;
  std::array<std::vector<float>, 2> mean_;
  std::vector<float> variance_;
};

}  // namespace wavetune::search
