#include "runtime/hip/amd/hiprtc_install.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "db/base/error.h"
#include "runtime/process/subprocess.h"

// Where setup.sh puts its copy; cmake/HipHeaders.cmake says where the sources of this build are.
#if !defined(WAVETUNE_ROCM_COPY)
#define WAVETUNE_ROCM_COPY ""
#endif

namespace wavetune::hip::amd {
namespace {

namespace fs = std::filesystem;

constexpr int oldest_major = 7;
constexpr std::string_view stem = "libhiprtc.so.";
constexpr const char* copy_libraries = "usr/lib/x86_64-linux-gnu";
constexpr const char* copy_loader = "ld-linux-x86-64.so.2";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// N of "libhiprtc.so.N"; 0 for any other name.
int major_of(std::string_view name) {
  if (!name.starts_with(stem)) return 0;
  name.remove_prefix(stem.size());
  int major = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), major);
  return error == std::errc{} && end == name.data() + name.size() ? major : 0;
}

std::optional<HiprtcInstall> describe(const fs::path& library, std::string place) {
  HiprtcInstall found;
  found.library = library.string();
  found.folder = library.parent_path().string();
  found.place = std::move(place);
  std::error_code ignored;
  const std::string real = fs::canonical(library, ignored).filename().string();
  const std::string name = real.starts_with(stem) ? real : library.filename().string();
  found.version = name.starts_with(stem) ? name.substr(stem.size()) : "";
  return found;
}

/// The newest one in a folder.
std::optional<HiprtcInstall> in_folder(const fs::path& folder, const std::string& place) {
  fs::path best;
  int best_major = 0;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(folder, ignored)) {
    const int major = major_of(item.path().filename().string());
    if (major < oldest_major || major <= best_major || !fs::exists(item.path(), ignored)) continue;
    best = item.path();
    best_major = major;
  }
  // An installation may have only the development name; what it is shows when it is loaded.
  if (best.empty() && fs::exists(folder / "libhiprtc.so", ignored)) {
    const std::string real = fs::canonical(folder / "libhiprtc.so", ignored).filename().string();
    if (!real.starts_with(fmt::format("{}{}", stem, 5)) && !real.starts_with(fmt::format("{}{}", stem, 6)))
      best = folder / "libhiprtc.so";
  }
  if (best.empty()) return std::nullopt;
  return describe(best, place);
}

/// A folder that somebody named: an installation or a private copy.
std::optional<HiprtcInstall> in_root(const fs::path& root) {
  if (auto found = in_folder(root / "lib", fmt::format("ROCm in {}", root.string()))) return found;
  for (const fs::path& copy : {root / "root", root}) {
    const fs::path folder = copy / copy_libraries;
    auto found = in_folder(folder, fmt::format("private copy in {}", root.string()));
    if (!found) continue;
    std::error_code ignored;
    if (fs::exists(folder / copy_loader, ignored)) found->loader = (folder / copy_loader).string();
    return found;
  }
  return std::nullopt;
}

/// What the dynamic loader would find by the bare name.
std::optional<HiprtcInstall> on_loader_path() {
  const std::string place = "ROCm on the loader's path";
  const std::string path = variable("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) {
      if (auto found = in_folder(path.substr(begin, end - begin), place)) return found;
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
    fs::path best;
    int best_major = 0;
    // "	libhiprtc.so.7 (libc6,x86-64) => /opt/rocm/lib/libhiprtc.so.7"
    for (std::size_t at = lines.find(stem); at != std::string::npos; at = lines.find(stem, at + 1)) {
      const std::size_t end = lines.find('\n', at);
      const std::string line = lines.substr(at, end - at);
      const std::size_t arrow = line.find(" => ");
      const int major = major_of(line.substr(0, line.find(' ')));
      if (arrow == std::string::npos || major < oldest_major || major <= best_major) continue;
      best = line.substr(arrow + 4);
      best_major = major;
    }
    if (!best.empty()) return describe(best, place);
    break;
  }
  return std::nullopt;
}

}  // namespace

std::string HiprtcInstall::major_minor() const {
  const std::size_t first = version.find('.');
  if (first == std::string::npos) return version;
  return version.substr(0, version.find('.', first + 1));
}

std::string HiprtcInstall::identity() const {
  std::string text = "hiprtc " + version;
  std::error_code error;
  // comgr holds (or loads) the compiler itself; two builds of it may come under one hipRTC version.
  for (const char* part : {"libhiprtc.so", "libamd_comgr.so", "libLLVM.so"}) {
    for (const auto& item : fs::directory_iterator(folder, error)) {
      const std::string name = item.path().filename().string();
      if (!name.starts_with(part) || item.is_symlink(error)) continue;
      text += fmt::format(" {}:{}", name, item.file_size(error));
    }
  }
  return text;
}

HiprtcSearch find_hiprtc() {
  HiprtcSearch search;
  const auto look = [&search](const std::string& place, auto&& in) {
    if (search.found) return;
    search.looked += fmt::format("{}{}", search.looked.empty() ? "" : ", ", place);
    search.found = in();
  };
  for (const char* name : {"WAVETUNE_ROCM_PATH", "ROCM_PATH"}) {
    const std::string root = variable(name);
    if (!root.empty()) look(root, [&] { return in_root(root); });
  }
  look("the loader's path", on_loader_path);
  look("/opt/rocm", [] { return in_root("/opt/rocm"); });
  const std::string copy = WAVETUNE_ROCM_COPY;
  if (!copy.empty()) look(copy, [&] { return in_root(copy); });
  return search;
}

}  // namespace wavetune::hip::amd
