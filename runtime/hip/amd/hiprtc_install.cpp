#include "runtime/hip/amd/hiprtc_install.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "runtime/hip/library_files.h"

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

HiprtcInstall describe(const fs::path& library, std::string place) {
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
  if (const auto newest = newest_library(folder, "libhiprtc", oldest_major)) return describe(*newest, place);
  // An installation may have only the development name; what it is shows when it is loaded.
  std::error_code ignored;
  if (!fs::exists(folder / "libhiprtc.so", ignored)) return std::nullopt;
  const std::string real = fs::canonical(folder / "libhiprtc.so", ignored).filename().string();
  if (real.starts_with(fmt::format("{}{}", stem, 5)) || real.starts_with(fmt::format("{}{}", stem, 6)))
    return std::nullopt;
  return describe(folder / "libhiprtc.so", place);
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
  const auto found = library_on_loader_path("libhiprtc", oldest_major);
  return found ? std::optional(describe(*found, "ROCm on the loader's path")) : std::nullopt;
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
    const std::string root = environment_variable(name);
    if (!root.empty()) look(root, [&] { return in_root(root); });
  }
  look("the loader's path", on_loader_path);
  look("/opt/rocm", [] { return in_root("/opt/rocm"); });
  const std::string copy = WAVETUNE_ROCM_COPY;
  if (!copy.empty()) look(copy, [&] { return in_root(copy); });
  return search;
}

}  // namespace wavetune::hip::amd
