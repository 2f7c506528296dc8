#include "search/strategy/model/acquisition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace wavetune::search {
namespace {

// Below this the expected improvement is less than 1e-11 deviations, and its formula loses all digits.
constexpr double tail = -6;
constexpr double smallest_variance = 1e-9;
// Nothing is ruled out by the model alone.
constexpr double smallest_chance = 0.02;
// A failed trial costs as much as another and tells nothing of times, and where much fails the times are known least:
// doubts count more than in proportion.
constexpr double caution = 4;

/// Expected improvement of a standard normal: u * Phi(u) + phi(u).
double standard_improvement(double u) {
  const double density = std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi);
  return 0.5 * u * std::erfc(-u / std::numbers::sqrt2) + density;
}

/// The u at which standard_improvement has this value, from below; tail when it is not above it.
double standard_improvement_inverse(double value) {
  double low = tail;
  double high = std::max(1.0, value);
  if (standard_improvement(low) >= value) return low;
  for (int i = 0; i < 30; ++i) {
    const double middle = 0.5 * (low + high);
    (standard_improvement(middle) < value ? low : high) = middle;
  }
  return low;
}

}  // namespace

double expected_improvement(double best, double mean, double deviation) {
  const double u = (best - mean) / deviation;
  if (u < tail) return 1e-12 * deviation * std::exp(-0.01 * u * u);
  return deviation * standard_improvement(u);
}

double CandidateView::promise(std::size_t c, double best) const {
  const double deviation = scale * std::sqrt(std::max(smallest_variance, static_cast<double>(variance[c])));
  const double improvement =
      expected_improvement(best, static_cast<double>(offset[c]) + static_cast<double>(mean[c]), deviation);
  if (failure.empty()) return improvement;
  const double works = std::clamp(1 - failure_rate - static_cast<double>(failure[c]), smallest_chance, 1.0);
  return improvement * std::pow(works, caution);
}

std::optional<std::size_t> most_promising(const CandidateView& candidates, double best) {
  std::optional<std::size_t> pick;
  double top = 0;
  // A candidate must have a larger u than this: its deviation is at most `scale`. Spares most of them the exponentials.
  double needed = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < candidates.open.size(); ++c) {
    if (candidates.open[c] == 0) continue;
    const double variance = std::max(smallest_variance, static_cast<double>(candidates.variance[c]));
    const double expected = static_cast<double>(candidates.offset[c]) + static_cast<double>(candidates.mean[c]);
    if (best - expected < needed * candidates.scale * std::sqrt(variance)) continue;
    const double promise = candidates.promise(c, best);
    if (pick && promise <= top) continue;
    pick = c;
    top = promise;
    const double bound = standard_improvement_inverse(top / candidates.scale);
    if (bound > tail) needed = bound;
  }
  return pick;
}

}  // namespace wavetune::search
