#include "runtime/hip/library_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "db/base/error.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip {
namespace {

namespace fs = std::filesystem;

/// N of "STEM.so.N"; 0 for any other name.
int major_of(std::string_view name, std::string_view stem) {
  const std::string start = fmt::format("{}.so.", stem);
  if (!name.starts_with(start)) return 0;
  name.remove_prefix(start.size());
  int major = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), major);
  return error == std::errc{} && end == name.data() + name.size() ? major : 0;
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<fs::path> newest_library(const fs::path& folder, std::string_view stem, int oldest_major) {
  std::optional<fs::path> best;
  int best_major = oldest_major - 1;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(folder, ignored)) {
    const int major = major_of(item.path().filename().string(), stem);
    if (major <= best_major || !fs::exists(item.path(), ignored)) continue;
    best = item.path();
    best_major = major;
  }
  return best;
}

std::optional<fs::path> library_on_loader_path(std::string_view stem, int oldest_major) {
  const std::string path = environment_variable("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) {
      if (auto found = newest_library(path.substr(begin, end - begin), stem, oldest_major)) return found;
    }
    begin = end + 1;
  }
  for (const char* program : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    process::SubprocessOptions options;
    options.arguments = {program, "-p"};
    options.standard_error = process::Stdio::null;
    options.environment = {{"LC_ALL", "C"}};
    std::string lines;
    try {
      lines = process::run_and_capture(std::move(options)).output;
    } catch (const Error&) {
      continue;
    }
    std::optional<fs::path> best;
    int best_major = oldest_major - 1;
    // "	libhiprtc.so.7 (libc6,x86-64) => /opt/rocm/lib/libhiprtc.so.7"
    for (std::size_t at = lines.find(stem); at != std::string::npos; at = lines.find(stem, at + 1)) {
      const std::string line = lines.substr(at, lines.find('\n', at) - at);
      const std::size_t arrow = line.find(" => ");
      const int major = major_of(line.substr(0, line.find(' ')), stem);
      if (arrow == std::string::npos || major <= best_major) continue;
      best = line.substr(arrow + 4);
      best_major = major;
    }
    return best;
  }
  return std::nullopt;
}

}  // namespace wavetune::hip
