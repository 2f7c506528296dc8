#include "runtime/hip/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "db/base/error.h"
#include "runtime/hip/amd/amd_library.h"
#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/hip/cuda/driver.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "runtime/jit/code_cache.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Finding library(const std::string& stem, std::string cost) {
  const amd::Library found = amd::load_library(stem);
  if (found.handle != nullptr) return {stem, Health::ok, found.path, ""};
  return {stem, Health::missing, found.reason, std::move(cost)};
}

/// The same one that the compile workers take; nothing is loaded.
Finding hiprtc() {
  const amd::HiprtcSearch search = amd::find_hiprtc();
  if (search.found) {
    return {"libhiprtc", Health::ok,
            fmt::format("{}, {} ({})", search.found->version, search.found->place, search.found->library), ""};
  }
  return {"libhiprtc", Health::missing, fmt::format("libhiprtc.so.7 or newer is not in {}", search.looked),
          "kernels cannot be compiled for AMD GPUs; it comes with ROCm 7 or newer, ./setup.sh fetches one"};
}

Finding amd_driver() {
  const std::string version = first_line("/sys/module/amdgpu/version");
  if (access("/dev/kfd", R_OK | W_OK) == 0) {
    return {"amdgpu driver", Health::ok, version.empty() ? "/dev/kfd" : "/dev/kfd, amdgpu " + version, ""};
  }
  const bool there = access("/dev/kfd", F_OK) == 0;
  return {"amdgpu driver", Health::missing,
          there ? "/dev/kfd is there but this user may not open it (groups render and video)" : "/dev/kfd is not there",
          "AMD GPUs cannot be used"};
}

Finding nvidia_driver() {
  const cuda::DriverSearch search = cuda::load_driver();
  if (search.driver == nullptr) return {"NVIDIA driver", Health::missing, search.reason, "NVIDIA GPUs cannot be used"};
  const std::string version = cuda::kernel_module_version();
  return {"NVIDIA driver", Health::ok, version.empty() ? search.driver->path : search.driver->path + ", " + version,
          ""};
}

/// The same one that the compile workers take; nothing is loaded.
Finding nvrtc() {
  const cuda::NvrtcSearch search = cuda::find_nvrtc();
  if (search.found) {
    return {"libnvrtc", Health::ok,
            fmt::format("{}, {} ({})", search.found->version, search.found->place, search.found->library), ""};
  }
  return {"libnvrtc", Health::missing, fmt::format("libnvrtc.so.12 or newer is not in {}", search.looked),
          "kernels cannot be compiled for NVIDIA GPUs; it comes with the CUDA toolkit, ./setup.sh fetches one"};
}

Finding compiler(const std::string& program, std::string cost) {
  try {
    process::SubprocessOptions options;
    options.arguments = {program, "--version"};
    options.error_to_output = true;
    const process::CaptureResult result = process::run_and_capture(std::move(options));
    if (result.status.ok()) return {program, Health::ok, result.output.substr(0, result.output.find('\n')), ""};
    return {program, Health::missing, result.status.describe(), std::move(cost)};
  } catch (const Error& error) {
    return {program, Health::missing, error.what(), std::move(cost)};
  }
}

Finding address_sanitizer() {
  try {
    const auto environment = process::sanitizer_environment();
    const auto preload = environment.find("LD_PRELOAD");
    return {"libasan", Health::ok, preload != environment.end() ? preload->second : "part of this build", ""};
  } catch (const Error& error) {
    return {"libasan", Health::missing, error.what(),
            "WAVETUNE_CPU_SANITIZE=address cannot show memory errors of kernels"};
  }
}

Finding writable(const std::string& name, const std::filesystem::path& folder, std::string cost) {
  // What is not there yet is made when needed: its nearest existing parent decides.
  std::filesystem::path existing = folder;
  std::error_code ignored;
  while (!existing.empty() && !std::filesystem::exists(existing, ignored) && existing != existing.parent_path()) {
    existing = existing.parent_path();
  }
  // access() tells root that everything is writable: only trying shows read-only file systems.
  std::string probe = (existing / ".wavetune-XXXXXX").string();
  const process::Fd file(mkostemp(probe.data(), O_CLOEXEC));
  if (file) {
    unlink(probe.c_str());
    return {name, Health::ok, folder.string(), ""};
  }
  return {name, Health::missing, folder.string() + " cannot be written to", std::move(cost)};
}

Finding core_dumps() {
  const std::string pattern = first_line("/proc/sys/kernel/core_pattern");
  if (!pattern.starts_with('|'))
    return {"core dumps", Health::ok, "core_pattern '" + pattern + "', off in worker processes", ""};
  return {"core dumps", Health::warning, "core_pattern pipes to '" + pattern.substr(1) + "'",
          "each candidate kernel that crashes starts that program: tuning is slower, and its store fills"};
}

Finding memory() {
  const double gib =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  const double free_gib =
      static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  const std::string text = fmt::format("{:.1f} GiB, {:.1f} GiB of it free", gib, free_gib);
  constexpr double enough_gib = 4;
  if (gib >= enough_gib) return {"memory", Health::ok, text, ""};
  return {"memory", Health::warning, text, "compile workers take up to 0.5 GiB each: use fewer"};
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::missing:
      return "missing";
    case Health::warning:
      return "warning";
  }
  return "?";
}

Diagnosis diagnose() {
  Diagnosis found;
  found.providers = probe_providers();
  for (const ProviderStatus& status : found.providers) {
    if (!status.usable) continue;
    const auto provider = load_provider({status.kind, 0, std::string(to_string(status.kind))});
    found.devices.insert(found.devices.end(), provider->devices().begin(), provider->devices().end());
  }
  const char* chosen = std::getenv("WAVETUNE_CPU_CXX");
  std::vector<Finding>& list = found.findings;
  list.push_back(amd_driver());
  list.push_back(library("libamdhip64", "AMD GPUs cannot be used; install ROCm 7 or newer, or set ROCM_PATH"));
  list.push_back(hiprtc());
  list.push_back(nvidia_driver());
  list.push_back(nvrtc());
  if (chosen != nullptr && *chosen != '\0') {
    list.push_back(compiler(chosen, "WAVETUNE_CPU_CXX names it: the cpu device cannot compile kernels"));
  } else {
    list.push_back(compiler("g++", "the cpu device falls back to clang++; without that it cannot compile kernels"));
    list.push_back(compiler("clang++", "nothing as long as g++ is there"));
  }
  list.push_back(address_sanitizer());
  list.push_back(writable("kernel cache", jit::default_cache_directory(),
                          "every start compiles its kernels again; set WAVETUNE_CACHE_DIR"));
  list.push_back(
      writable("temporary folder", std::filesystem::temp_directory_path(), "kernels cannot be compiled; set TMPDIR"));
  list.push_back(core_dumps());
  list.push_back(memory());
  return found;
}

}  // namespace wavetune::hip
