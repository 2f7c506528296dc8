// The files that a source includes, as part of what is compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wavetune::jit {

/// Names and content hashes of the files that `source` includes through the -I folders of `options`, and of what those
/// include; empty without -I. Files that no -I folder has are the compiler's own. Includes whose name is a macro are
/// not seen.
std::string includes_fingerprint(std::string_view source, const std::vector<std::string>& options);

}  // namespace wavetune::jit
