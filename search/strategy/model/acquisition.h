// The acquisition: how much better than the best a candidate is expected to be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace wavetune::search {

/// E[max(0, best - y)] for y ~ N(mean, deviation^2), deviation > 0. Far in the tail, where it would underflow, a
/// positive number below all others that keeps the order of (best - mean) / deviation.
double expected_improvement(double best, double mean, double deviation);

/// Candidates, one entry each in every span: a value is offset + mean +- scale * sqrt(variance).
struct CandidateView {
  std::span<const float> offset, mean, variance;
  double scale = 1;
  std::span<const float> failure;  ///< how much likelier than `failure_rate` each is to fail; empty: none failed yet
  double failure_rate = 0;         ///< of all that was tried
  std::span<const unsigned char> open;  ///< 0: not to be picked

  /// Expected improvement on `best` times a power of the chance that the candidate works.
  double promise(std::size_t candidate, double best) const;
};

/// Index of the open candidate with the largest promise; nothing when none is open.
std::optional<std::size_t> most_promising(const CandidateView& candidates, double best);

}  // namespace wavetune::search
