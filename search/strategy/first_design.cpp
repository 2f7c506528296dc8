#include "search/strategy/first_design.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace wavetune::search {
namespace {

constexpr double share = 0.1;
constexpr int at_least = 3;
constexpr int at_most = 12;
constexpr int draws = 10;
// One odd size outweighs half a parameter's range of distance; one e-fold of predicted time a whole one.
constexpr double odd_weight = 0.5;
constexpr double predicted_weight = 1.0;

int odd_sizes(const SearchSpace& space, const Kernel& kernel, const Point& point) {
  int odd = 0;
  for (std::size_t d = 0; d < kernel.active().size(); ++d) {
    if (!kernel.has_alignment(d)) continue;
    const std::size_t parameter = kernel.active()[d];
    const std::int64_t value = space.parameters()[parameter].values[point[parameter]];
    if (!std::has_single_bit(static_cast<std::uint64_t>(value))) ++odd;
  }
  return odd;
}

}  // namespace

int design_size(int expected_trials) {
  return std::clamp(static_cast<int>(std::lround(share * expected_trials)), at_least, at_most);
}

std::optional<PointId> spread_out(Untried& untried, const Kernel& kernel, std::span<const Point> seen,
                                  const std::function<double(PointId)>& log_predicted) {
  const SearchSpace& space = untried.space();
  if (untried.left() == 0) return std::nullopt;
  std::optional<PointId> pick;
  double top = 0;
  for (int i = 0; i < draws; ++i) {
    const PointId id = space.draw(untried.random());
    if (!untried.contains(id)) continue;
    const Point point = space.at(id);
    double score = static_cast<double>(kernel.active().size());
    for (const Point& other : seen) score = std::min(score, kernel.distance(point, other));
    score -= odd_weight * odd_sizes(space, kernel, point);
    if (log_predicted) score -= predicted_weight * log_predicted(id);
    if (pick && score <= top) continue;
    pick = id;
    top = score;
  }
  if (!pick) return untried.draw();
  untried.take(*pick);
  return pick;
}

}  // namespace wavetune::search
