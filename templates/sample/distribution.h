// What sampling means, in double: softmax with temperature, top-p by sorting, inverse CDF.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wavetune::templates {

/// A token's share of the kept probability, as [low, high) of the cumulative distribution in ascending id order; empty
/// (low = high) when it is not kept.
struct Interval {
  double low = 0;
  double high = 0;
};

class Distribution {
 public:
  /// `temperature` > 0.
  Distribution(std::span<const double> logits, double temperature);

  /// The token whose interval holds `uniform`, when the smallest set of most probable tokens (lower id first among
  /// equals) with at least `top_p` of the probability is kept.
  std::size_t draw(double top_p, double uniform) const;
  Interval interval(std::size_t token, double top_p) const;

 private:
  /// Probability by id, 0 for tokens that are not kept; not normalised.
  std::vector<double> kept(double top_p) const;

  std::vector<double> probability_;  ///< sums to 1
  std::vector<std::size_t> order_;   ///< ids by descending probability
};

}  // namespace wavetune::templates
