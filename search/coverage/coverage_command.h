// wavetune db coverage
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// `arguments` are those after `db coverage`. Throws Error.
int coverage_command(const std::vector<std::string>& arguments);

}  // namespace wavetune
