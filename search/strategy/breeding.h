// What strategies that make points out of other points have in common.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "search/space/search_space.h"

namespace wavetune::search {

/// Parameters that have more than one value, by index: the others are nothing to search.
std::vector<std::size_t> open_parameters(const SearchSpace& space);

/// `child` when it is valid, else `child` with as many values put back to those of the valid `parent`, in random order,
/// as it takes.
PointId repaired(const SearchSpace& space, Point child, const Point& parent, std::mt19937_64& random);

/// `point` after `count` random changes of one parameter each; `point` itself when nothing can be changed.
PointId perturbed(const SearchSpace& space, PointId point, int count, std::mt19937_64& random);

}  // namespace wavetune::search
