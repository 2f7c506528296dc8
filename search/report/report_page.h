// A tuning report as one self-contained HTML page: nothing is loaded from elsewhere.
#pragma once

#include <string>

#include "search/report/report_data.h"

namespace wavetune::report {

/// `reload_s`: seconds after which the page looks for a newer version of itself, 0 for never (the run is over).
std::string report_page(const ReportData& data, int reload_s);

}  // namespace wavetune::report
