// `wavetune tune`.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// 0 when it went through, 130 when it was interrupted. Throws Error.
int tune_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
