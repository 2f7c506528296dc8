// Pieces of a self-contained page: escaped text, and charts as inline SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search/report/report_data.h"

namespace wavetune::report {

/// Text for element content and double-quoted attributes. Bytes that are no UTF-8, and control characters, become
/// U+FFFD.
std::string escape(std::string_view text);

/// Best time after each trial (log scale) as a step line, each ok trial as a dot, the roofline dashed when known.
std::string curve_svg(const std::vector<double>& times_us, double roofline_us);

/// One stacked bar; the parts' titles carry the counts.
std::string outcomes_svg(const Outcomes& outcomes);

/// What the colours of outcomes_svg mean.
std::string outcomes_legend();

/// A bar for each share.
std::string shares_svg(const std::vector<ParameterShare>& shares);

}  // namespace wavetune::report
