// `wavetune layout`.
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// Throws Error.
int layout_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
