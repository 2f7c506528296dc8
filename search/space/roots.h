// A space's constraints as terms.
#pragma once

#include <vector>

#include "search/space/level_program.h"
#include "templates/space.h"

namespace wavetune::search {

/// Refers to the space. Predicates write into a Config of their own: for one thread at a time.
struct Roots {
  explicit Roots(const templates::Space& space);

  templates::Terms terms;
  std::vector<Root> roots;  ///< in the constraints' order
  std::vector<LanePredicate> predicates;
};

}  // namespace wavetune::search
