#include "runtime/hip/cuda/cuda_provider.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "runtime/hip/cuda/calls.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/hip/cuda/nvrtc_install.h"

namespace wavetune::hip::cuda {
namespace {

constexpr int oldest_driver = 12000;
constexpr int wave_lanes = 32;

/// CUDA's version numbers: 1000 * major + 10 * minor.
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

class CudaProvider : public Provider {
 public:
  ProviderKind kind() const override { return ProviderKind::cuda; }

  std::vector<std::string> compile_options(const DeviceInfo& device) const override {
    return cuda::compile_options(device.arch);
  }

  std::string prelude() const override { return cuda::prelude(); }

  /// Empty when all went well, else why not.
  std::string open(int count) {
    const DriverSearch search = load_driver();
    if (search.driver == nullptr) return search.reason;
    add_error_calls(api_);
    add_device_calls(api_);
    add_memory_calls(api_);
    add_stream_calls(api_);
    add_graph_calls(api_);
    add_module_calls(api_);
    add_rtc_calls(api_);

    int version = 0;
    if (api_.hipDriverGetVersion(&version) == hipSuccess && version < oldest_driver) {
      return fmt::format("{} is the driver of CUDA {}; wavetune needs {} or newer", search.driver->path,
                         version_text(version), version_text(oldest_driver));
    }
    if (const hipError_t code = api_.hipInit(0); code != hipSuccess) return no_device(*search.driver, "cuInit", code);
    int found = 0;
    if (const hipError_t code = api_.hipGetDeviceCount(&found); code != hipSuccess)
      return no_device(*search.driver, "cuDeviceGetCount", code);
    if (found == 0) return no_device(*search.driver, "cuDeviceGetCount", hipErrorNoDevice);
    if (count > found) return fmt::format("{} devices asked for, CUDA shows {}", count, found);
    const NvrtcSearch compiler = find_nvrtc();
    if (!compiler.found) return compiler.missing();

    const std::string module = kernel_module_version();
    driver_ = fmt::format("cuda {}{}{}", version_text(version), module.empty() ? "" : " / ", module);
    compiler_ = "nvrtc";
    compiler_version_ = compiler.found->version;
    for (int i = 0; i < (count > 0 ? count : found); ++i) {
      if (const std::string problem = describe(i); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  /// What a CUDA without devices most likely lacks here.
  std::string no_device(const Driver& driver, const char* call, hipError_t code) const {
    std::string text = fmt::format("{} is there, but {} says {} ({})", driver.path, call, api_.hipGetErrorName(code),
                                   api_.hipGetErrorString(code));
    if (access("/dev/nvidiactl", F_OK) != 0) {
      return text +
             "; /dev/nvidiactl is missing: no NVIDIA GPU, the kernel's module is not loaded, or the container lacks "
             "--gpus all";
    }
    if (access("/dev/nvidiactl", R_OK | W_OK) != 0) return text + "; this user may not open /dev/nvidiactl";
    return text + "; see CUDA_VISIBLE_DEVICES";
  }

  std::string describe(int index) {
    std::string problem;
    const auto attribute = [&](hipDeviceAttribute_t which, const char* name) {
      int value = 0;
      if (const hipError_t code = api_.hipDeviceGetAttribute(&value, which, index); code != hipSuccess)
        problem = fmt::format("{} of device {}: {}", name, index, api_.hipGetErrorName(code));
      return value;
    };
    DeviceInfo info;
    info.index = index;
    info.arch = arch_of(attribute(hipDeviceAttributeComputeCapabilityMajor, "compute capability"),
                        attribute(hipDeviceAttributeComputeCapabilityMinor, "compute capability"));
    std::array<char, 256> name{};
    if (api_.hipDeviceGetName(name.data(), static_cast<int>(name.size()), index) == hipSuccess) info.name = name.data();
    if (info.name.empty()) info.name = info.arch;
    size_t bytes = 0;
    if (api_.hipDeviceTotalMem(&bytes, index) == hipSuccess) info.memory_bytes = bytes;
    info.cu_count = attribute(hipDeviceAttributeMultiprocessorCount, "number of SMs");
    info.limits.arch = info.arch;
    info.limits.wave_size = attribute(hipDeviceAttributeWarpSize, "warp size");
    info.limits.max_block_threads = attribute(hipDeviceAttributeMaxThreadsPerBlock, "threads a block");
    info.limits.lds_bytes = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock, "shared memory a block");
    info.limits.cu_count = info.cu_count;
    if (problem.empty() && info.limits.wave_size != wave_lanes)
      problem = fmt::format("device {} ({}) has warps of {} lanes", index, info.arch, info.limits.wave_size);
    if (problem.empty()) devices_.push_back(std::move(info));
    return problem;
  }
};

}  // namespace

CudaResult make_cuda_provider(int count) {
  auto provider = std::make_shared<CudaProvider>();
  std::string problem = provider->open(count);
  if (!problem.empty()) return {nullptr, std::move(problem)};
  const DeviceInfo& first = provider->devices().front();
  std::string detail =
      fmt::format("{}, {} x {} ({})", provider->driver(), provider->devices().size(), first.name, first.arch);
  return {std::move(provider), std::move(detail)};
}

}  // namespace wavetune::hip::cuda
