// Where the vectors of tests/golden and the demo model lie.
#pragma once

#include <filesystem>

namespace wavetune::model {

inline std::filesystem::path golden_folder() { return std::filesystem::path(WAVETUNE_SOURCE_DIR) / "tests" / "golden"; }
inline std::filesystem::path demo_folder() { return std::filesystem::path(WAVETUNE_SOURCE_DIR) / "model" / "demo"; }

}  // namespace wavetune::model
