// `wavetune report`: what a database says about the tuning that filled it.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// wavetune report --db FILE [--html FILE] [--op OPS]
int report_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
