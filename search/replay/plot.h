// Curves as pictures that need nothing else: one SVG, and an HTML page that holds it.
#pragma once

#include <string>
#include <vector>

#include "search/replay/curves.h"

namespace wavetune::replay {

/// A panel with the scores over relative time, averaged over the spaces (strategies that were run on all of them), then
/// a panel a space: mean best so far over the optimum, with its interval, beside random search.
std::string curves_svg(const std::vector<ScoredSpace>& spaces, const std::vector<Curve>& curves);

/// The picture with `report` (plain text) under it.
std::string curves_html(const std::string& svg, const std::string& report);

}  // namespace wavetune::replay
