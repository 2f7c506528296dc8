// Time stamps as text.
#pragma once

#include <string>

namespace wavetune {

/// Now, ISO 8601 UTC with milliseconds: "2026-08-01T12:34:56.789Z". Sorts as text in order of time.
std::string utc_now();

}  // namespace wavetune
