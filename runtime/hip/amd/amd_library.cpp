#include "runtime/hip/amd/amd_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace wavetune::hip::amd {
namespace {

constexpr int oldest_major = 7;
constexpr int newest_major = 40;  // a bound for the search, not for what works

std::vector<std::string> places() {
  std::vector<std::string> folders;
  for (const char* name : {"WAVETUNE_ROCM_PATH", "ROCM_PATH"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') folders.push_back(std::string(value) + "/lib/");
  }
  folders.push_back("");  // the loader's own path
  folders.push_back("/opt/rocm/lib/");
  return folders;
}

}  // namespace

Library load_library(const std::string& stem) {
  Library result;
  std::string failures;
  std::string looked;
  for (const std::string& place : places()) {
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", place.empty() ? "the loader's path" : place);
    for (int major = newest_major; major >= oldest_major - 1; --major) {
      const std::string name = major >= oldest_major ? fmt::format("{}.so.{}", stem, major) : stem + ".so";
      result.path = place + name;
      // Where a path is given, asking the loader for what is not there is saved.
      if (!place.empty() && !std::filesystem::exists(result.path)) continue;
      result.handle = dlopen(result.path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (result.handle != nullptr) return result;
      const std::string reason = dlerror();
      // Without a path, "not there" is the usual case; anything else is worth telling.
      const std::string_view absent = ": cannot open shared object file: No such file or directory";
      if (reason != name + std::string(absent)) failures += fmt::format("{}{}", failures.empty() ? "" : "; ", reason);
    }
  }
  result.path.clear();
  result.reason = failures.empty() ? fmt::format("{}.so.{} or newer is not in {}", stem, oldest_major, looked)
                                   : fmt::format("{} cannot be loaded: {}", stem, failures);
  return result;
}

}  // namespace wavetune::hip::amd
