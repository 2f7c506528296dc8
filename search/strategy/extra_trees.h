// A forest of extremely randomised regression trees over points of a search space.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "search/space/search_space.h"

namespace wavetune::search {

/// Every tree sees all samples and splits at random thresholds (per node one for each parameter, of which the one that
/// reduces the variance most is taken), so that trees agree where samples are and differ where none are.
class ExtraTrees {
 public:
  struct Estimate {
    double mean;
    double deviation;  ///< between the trees
  };

  /// `parameters`: the indices of those to split by. `points` and `values` are of the same length, at least 1.
  void fit(std::span<const std::size_t> parameters, std::span<const Point> points, std::span<const double> values,
           std::mt19937_64& random);
  bool fitted() const { return !roots_.empty(); }
  /// After fit() only.
  Estimate estimate(const Point& point) const;

 private:
  struct Node {
    float value;              ///< of a leaf
    std::uint16_t threshold;  ///< points with an index up to it go left, to the node that follows this one
    std::int16_t parameter;   ///< negative: a leaf
    std::uint32_t right;
  };
  struct Samples;
  void grow(const Samples& samples, std::span<std::uint32_t> chosen, std::mt19937_64& random);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace wavetune::search
