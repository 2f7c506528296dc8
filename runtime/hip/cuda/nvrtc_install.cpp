#include "runtime/hip/cuda/nvrtc_install.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "runtime/hip/library_files.h"
#include "runtime/process/subprocess.h"

// Where setup.sh puts its copy; CMakeLists.txt says where the sources of this build are.
#if !defined(WAVETUNE_CUDA_COPY)
#define WAVETUNE_CUDA_COPY ""
#endif

namespace wavetune::hip::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int oldest_major = 12;
constexpr const char* stem = "libnvrtc";
constexpr std::string_view builtins_start = "libnvrtc-builtins.so.";

std::optional<NvrtcInstall> in_root(const fs::path& root, const std::string& place) {
  for (const char* folder :
       {"lib64", "lib", "targets/x86_64-linux/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", ""}) {
    if (const auto found = newest_library(root / folder, stem, oldest_major))
      return describe_nvrtc(found->string(), place);
  }
  return std::nullopt;
}

}  // namespace

NvrtcInstall describe_nvrtc(const std::string& library, std::string place) {
  NvrtcInstall found;
  found.library = library;
  found.place = std::move(place);
  const std::string name = fs::path(library).filename().string();
  const std::string major = name.substr(name.rfind('.') + 1);
  found.version = major;
  std::error_code ignored;
  // The file of the built-ins is named by the whole version: libnvrtc-builtins.so.13.0, behind which a patch may
  // follow.
  for (const auto& item : fs::directory_iterator(fs::canonical(library, ignored).parent_path(), ignored)) {
    const std::string other = item.path().filename().string();
    if (!other.starts_with(builtins_start)) continue;
    const std::string version = other.substr(builtins_start.size());
    const std::size_t first = version.find('.');
    if (first == std::string::npos || version.substr(0, first) != major) continue;
    if (!found.builtins.empty() && found.builtins.size() <= item.path().string().size()) continue;
    found.builtins = item.path().string();
    found.version = version.substr(0, version.find('.', first + 1));
  }
  return found;
}

std::string NvrtcInstall::identity() const {
  std::string text = "nvrtc " + version;
  for (const std::string& file : {library, builtins}) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (!error) text += fmt::format(" {}:{}", fs::path(file).filename().string(), size);
  }
  return text;
}

std::string NvrtcSearch::missing() const {
  return fmt::format(
      "no NVRTC: libnvrtc.so.{} or newer is not in {}; install the CUDA toolkit (or only its NVRTC), let ./setup.sh "
      "fetch "
      "a private copy (.cuda), or point WAVETUNE_CUDA_PATH at a folder with lib/libnvrtc.so.13",
      oldest_major, looked);
}

NvrtcSearch find_nvrtc() {
  NvrtcSearch search;
  const auto look = [&search](const std::string& place, const auto& in) {
    if (search.found) return;
    search.looked += fmt::format("{}{}", search.looked.empty() ? "" : ", ", place);
    search.found = in();
  };
  const auto look_in = [&look](const std::string& root, std::string_view what) {
    if (!root.empty()) look(root, [&] { return in_root(root, fmt::format("{} in {}", what, root)); });
  };
  for (const char* name : {"WAVETUNE_CUDA_PATH", "CUDA_PATH"}) look_in(environment_variable(name), "CUDA");
  look_in("/usr/local/cuda", "CUDA");
  look("the loader's path", []() -> std::optional<NvrtcInstall> {
    const auto found = library_on_loader_path(stem, oldest_major);
    return found ? std::optional(describe_nvrtc(found->string(), "CUDA on the loader's path")) : std::nullopt;
  });
  look_in(process::self_executable().parent_path().parent_path() / "lib", "wavetune's own copy");
  look_in(WAVETUNE_CUDA_COPY, "private copy");
  return search;
}

}  // namespace wavetune::hip::cuda
