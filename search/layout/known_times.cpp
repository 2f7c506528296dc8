#include "search/layout/known_times.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/kernels/kernel_table.h"

namespace wavetune::search {

void KnownTimes::add(const db::Problem& problem, double us) {
  Curve& curve = curves_[kernels::family_key(problem)][{problem.dim_or("context", 0), problem.dim_or("rows", 0)}];
  const auto [point, added] = curve.emplace(problem.dim_or("m", 1), us);
  if (!added) point->second = std::min(point->second, us);
}

bool KnownTimes::knows_family(const db::Problem& problem) const {
  return curves_.contains(kernels::family_key(problem));
}

std::optional<KnownTimes::Found> KnownTimes::find(const db::Problem& problem) const {
  const auto family = curves_.find(kernels::family_key(problem));
  if (family == curves_.end()) return std::nullopt;
  const Shape wanted{problem.dim_or("context", 0), problem.dim_or("rows", 0)};
  const auto nearest = std::ranges::min_element(family->second, {}, [&](const auto& entry) {
    return std::pair(std::llabs(entry.first.context - wanted.context), std::llabs(entry.first.rows - wanted.rows));
  });
  const Curve& curve = nearest->second;
  const bool same_context = nearest->first == wanted;

  Found found;
  found.nearest = problem;
  if (!same_context) {
    if (problem.dims.contains("context")) found.nearest.dims["context"] = nearest->first.context;
    if (problem.dims.contains("rows")) found.nearest.dims["rows"] = nearest->first.rows;
  }
  const std::int64_t m = problem.dim_or("m", 1);
  const auto above = curve.lower_bound(m);
  if (above == curve.end()) {
    const auto last = std::prev(curve.end());
    found.place = Place::beyond;
    found.us = last->second;
    found.nearest.dims["m"] = last->first;
    if (last != curve.begin()) {
      const auto before = std::prev(last);
      found.us_per_row =
          std::max(0.0, (last->second - before->second) / static_cast<double>(last->first - before->first));
    }
    return found;
  }
  if (above->first == m || above == curve.begin()) {
    found.us = above->second;
    found.place = above->first == m ? Place::known : Place::between;
  } else {
    const auto below = std::prev(above);
    const double share = static_cast<double>(m - below->first) / static_cast<double>(above->first - below->first);
    found.us = below->second + share * (above->second - below->second);
    found.place = Place::between;
  }
  if (!same_context) found.place = Place::context;
  return found;
}

}  // namespace wavetune::search
