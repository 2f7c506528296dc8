#include "runtime/hip/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "runtime/hip/library_files.h"

namespace wavetune::hip::cuda {
namespace {

constexpr const char* library_name = "libcuda.so.1";

Driver loaded;
bool is_loaded = false;

std::string open_driver(Driver& driver) {
  std::vector<std::string> candidates;
  if (const std::string root = environment_variable("WAVETUNE_CUDA_PATH"); !root.empty()) {
    const std::string named = fmt::format("{}/lib/{}", root, library_name);
    // A toolkit's folder has none of its own; only what is there counts.
    if (std::filesystem::exists(named)) candidates.push_back(named);
  }
  candidates.emplace_back(library_name);
  std::string reason;
  for (const std::string& candidate : candidates) {
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const std::string problem = dlerror();
      // "Not there" is the usual case and said below; anything else is worth telling.
      if (!problem.ends_with(": No such file or directory"))
        reason += fmt::format("{}{}", reason.empty() ? "" : "; ", problem);
      continue;
    }
    std::string missing;
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      if (function == nullptr && missing.empty())
        missing = fmt::format("{} has no function {}: a driver of CUDA 12.0 or newer is needed", candidate, symbol);
    };
#define WAVETUNE_FIND(member, symbol, parameters) find(driver.member, #symbol);
    WAVETUNE_CUDA_FUNCTIONS(WAVETUNE_FIND)
#undef WAVETUNE_FIND
    if (!missing.empty()) return missing;
    driver.path = candidate;
    return "";
  }
  if (!reason.empty()) return fmt::format("{} cannot be loaded: {}", library_name, reason);
  return fmt::format(
      "{} is not on the loader's path: no NVIDIA driver is installed, or the container was started without it "
      "(--gpus all)",
      library_name);
}

}  // namespace

DriverSearch load_driver() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (is_loaded) return {&loaded, ""};
  Driver found;
  std::string reason = open_driver(found);
  if (!reason.empty()) return {nullptr, std::move(reason)};
  loaded = std::move(found);
  is_loaded = true;
  return {&loaded, ""};
}

const Driver& driver() { return loaded; }

std::string kernel_module_version() {
  std::string version;
  std::ifstream("/sys/module/nvidia/version") >> version;
  if (!version.empty()) return version;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue ...", also "... Open Kernel Module for x86_64
  // 580..."
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word && word != "GCC";) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return "";
}

}  // namespace wavetune::hip::cuda
