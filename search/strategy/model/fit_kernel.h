// Chooses a kernel's settings by what the measurements say.
#pragma once

#include <span>
#include <vector>

#include "search/space/search_space.h"
#include "search/strategy/model/kernel.h"

namespace wavetune::search {

/// Coordinate search, from the kernel's present settings, for a larger marginal likelihood of `values` (mean 0) at
/// `points`, with a mild preference for the defaults that decides while there are few. The signal's variance is
/// integrated out at its maximum. Time grows with the cube of the number of points: 80 take some 10 ms.
void fit_kernel(Kernel& kernel, std::span<const Point> points, std::span<const double> values);

}  // namespace wavetune::search
