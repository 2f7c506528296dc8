// This machine's name.
#pragma once

#include <string>

namespace wavetune {

/// As gethostname(2) has it; "unknown" when it has none.
std::string host_name();

}  // namespace wavetune
