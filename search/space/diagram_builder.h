// From a space's constraints to the diagram of its valid points, without going through the points.
#pragma once

#include "search/space/diagram.h"
#include "templates/space.h"

namespace wavetune::search {

/// Work grows with the partial points that differ in what the constraints still ask of them. The space has at least one
/// parameter. Throws what a constraint throws.
Diagram build_diagram(const templates::Space& space);

}  // namespace wavetune::search
