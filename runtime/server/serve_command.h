// wavetune serve
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// Serves until SIGINT or SIGTERM, then drains. Throws Error.
int serve_command(const std::vector<std::string>& args);

}  // namespace wavetune
