// Finding a versioned library (NAME.so.MAJOR...) by looking at files: nothing is loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace wavetune::hip {

/// The value of an environment variable; empty when it is not set.
std::string environment_variable(const char* name);

/// The newest STEM.so.N of a folder with N >= oldest_major; only names that end with the major version count.
std::optional<std::filesystem::path> newest_library(const std::filesystem::path& folder, std::string_view stem,
                                                    int oldest_major);

/// The one that the dynamic loader would find by its bare name: LD_LIBRARY_PATH, then ldconfig's cache.
std::optional<std::filesystem::path> library_on_loader_path(std::string_view stem, int oldest_major);

}  // namespace wavetune::hip
