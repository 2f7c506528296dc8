// What this executable was built from and with.
#pragma once

#include <string>

namespace wavetune::cli {

/// Several lines: version, compiler, build type, libraries with the versions compiled against.
std::string version_text();

}  // namespace wavetune::cli
