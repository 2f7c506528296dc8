// The first configurations, before there is anything to learn from.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "search/space/search_space.h"
#include "search/strategy/model/kernel.h"
#include "search/strategy/untried.h"

namespace wavetune::search {

/// Share of the budget and limits of the first design: with eight tries three of them, never more than twelve.
int design_size(int expected_trials);

/// Of a few random untried configurations the one that is best spread from those in `seen`, has fewest sizes that are
/// no powers of two (kernels are seldom at their best with those: waves, banks, cache lines and problem sizes are), and
/// that the analytic model (`log_predicted`, may be empty) dislikes least. Taken from `untried`; nothing when none is
/// left.
std::optional<PointId> spread_out(Untried& untried, const Kernel& kernel, std::span<const Point> seen,
                                  const std::function<double(PointId)>& log_predicted);

}  // namespace wavetune::search
