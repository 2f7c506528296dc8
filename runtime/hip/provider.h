// Which HIP is used: AMD's, one over the CUDA driver, or one over the CPU; and what its devices are.
//
// Environment variables of runtime/hip:
//   WAVETUNE_ROCM_PATH     where libamdhip64 and libhiprtc are looked for first (in its lib/); then ROCM_PATH. For
//                          libhiprtc also a folder filled by cmake/fetch-rocm.sh (see amd/hiprtc_install.h)
//   WAVETUNE_CUDA_PATH     where libnvrtc is looked for first (in its lib64/ or lib/); then CUDA_PATH and others (see
//                          cuda/nvrtc_install.h)
//   WAVETUNE_CPU_CXX       compiler of the CPU device's kernels instead of g++ or clang++
//   WAVETUNE_CPU_SANITIZE  "address": the CPU device's kernels are compiled with AddressSanitizer (see
//                          process::sanitizer_environment() for what a process that loads them needs)
//   WAVETUNE_CPU_MEMORY    memory of each CPU device ("256M", "4G") instead of an even share of 3/4 of the machine's
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/trial.h"
#include "runtime/hip/api.h"
#include "templates/operator.h"

namespace wavetune::hip {

enum class ProviderKind { amd, cuda, cpu };
std::string_view to_string(ProviderKind kind);

/// `--device auto|hip|cuda|cpu[:N]`. For cpu, N is the number of devices to show (default 1); for hip and cuda, N
/// limits how many of the devices are used (default all).
struct DeviceSpec {
  std::optional<ProviderKind> kind;  ///< nothing: auto (AMD, then NVIDIA, then CPU)
  int count = 0;                     ///< 0: default
  std::string text;                  ///< as the user wrote it
};
/// Throws Error usage that names the accepted forms.
DeviceSpec parse_device_spec(std::string_view text);

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string arch;  ///< "gfx950" (without feature suffixes), "sm_90a", "cpu-x86-64"
  int cu_count = 0;
  std::size_t memory_bytes = 0;
  templates::DeviceLimits limits;
};

/// A filled function table and what fills it. Shared for the process's life: libraries are never unloaded, since HIP
/// keeps threads of its own.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual ProviderKind kind() const = 0;
  const Api& api() const { return api_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }
  /// "amdhip64 7.2.53211", "cuda 13.0 / 580.159.03", "cpu 0.1.0": for the environment fingerprint.
  const std::string& driver() const { return driver_; }
  const std::string& compiler() const { return compiler_; }
  const std::string& compiler_version() const { return compiler_version_; }
  /// Options for hiprtcCompileProgram that target this device.
  virtual std::vector<std::string> compile_options(const DeviceInfo& device) const = 0;
  /// Text put in front of every kernel source: the target's vocabulary (templates/prelude/).
  virtual std::string prelude() const = 0;

 protected:
  Api api_;
  std::vector<DeviceInfo> devices_;
  std::string driver_, compiler_, compiler_version_;
};

/// Why a provider cannot be used here, in one line each, for `doctor` and for the error of `--device`.
struct ProviderStatus {
  ProviderKind kind;
  bool usable = false;
  std::string detail;
};

/// Loads the provider that `spec` asks for. Throws Error not_found with the reason of each provider that was tried.
std::shared_ptr<const Provider> load_provider(const DeviceSpec& spec);
/// Tries all, for `doctor`.
std::vector<ProviderStatus> probe_providers();

/// The environment fingerprint that trials on `device` are stored under.
db::Environment environment_of(const Provider& provider, const DeviceInfo& device);

}  // namespace wavetune::hip
