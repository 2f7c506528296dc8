// Time stamps as text.
#pragma once

#include <string>
#include <string_view>

namespace wavetune {

/// Now, ISO 8601 UTC with milliseconds: "2026-08-01T12:34:56.789Z". Sorts as text in order of time.
std::string utc_now();
/// Now or, where the clock is not past `earlier`, a millisecond after that. Throws Error bad_data when `earlier` is not
/// of utc_now()'s form.
std::string utc_after(std::string_view earlier);

}  // namespace wavetune
