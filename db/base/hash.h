// Content hashes (XXH3-128): they name cached code objects and detect changed templates. Not for security.
#pragma once

#include <string>
#include <string_view>

namespace wavetune {

/// 32 lower-case hex digits of XXH3-128 over `bytes`. Stable across machines and releases.
std::string content_hash(std::string_view bytes);

}  // namespace wavetune
