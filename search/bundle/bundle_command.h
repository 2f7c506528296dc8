// wavetune export --format bundle
#pragma once

#include <string>
#include <vector>

namespace wavetune {

/// Whether the words after `export` ask for a bundle.
bool wants_bundle(const std::vector<std::string>& words);

/// Writes winners, layouts and code objects of one environment as a frozen file (db/transfer/bundle.h). Throws Error.
int bundle_command(const std::vector<std::string>& words);

}  // namespace wavetune
