#include "runtime/hip/amd/amd_provider.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "runtime/hip/amd/amd_library.h"
#include "runtime/hip/amd/amd_target.h"

namespace wavetune::hip::amd {
namespace {

constexpr int oldest_hip_major = 7;

/// HIP's version numbers: major * 10^7 + minor * 10^5 + patch.
int major_of(int version) { return version / 10'000'000; }
std::string version_text(int version) {
  return fmt::format("{}.{}.{}", major_of(version), version / 100'000 % 100, version % 100'000);
}

class AmdProvider : public Provider {
 public:
  ProviderKind kind() const override { return ProviderKind::amd; }

  std::vector<std::string> compile_options(const DeviceInfo& device) const override {
    return amd::compile_options(device.arch);
  }

  std::string prelude() const override { return amd::prelude(); }

  /// Empty when all went well, else why not.
  std::string open(int count) {
    const Library hip = load_library("libamdhip64");
    if (hip.handle == nullptr) return hip.reason;
    const Library rtc = load_library("libhiprtc");
    if (rtc.handle == nullptr) return rtc.reason;
    if (const std::string missing = fill(hip, rtc); !missing.empty()) return missing;

    int version = 0;
    const hipError_t versioned = api_.hipRuntimeGetVersion(&version);
    if (versioned == hipSuccess && major_of(version) < oldest_hip_major) {
      return fmt::format("{} is HIP {}; wavetune needs {} or newer", hip.path, version_text(version), oldest_hip_major);
    }
    if (const hipError_t code = api_.hipInit(0); code != hipSuccess) return no_device(hip, "hipInit", code);
    int found = 0;
    if (const hipError_t code = api_.hipGetDeviceCount(&found); code != hipSuccess) {
      return no_device(hip, "hipGetDeviceCount", code);
    }
    if (found == 0) return no_device(hip, "hipGetDeviceCount", hipErrorNoDevice);
    if (count > found) return fmt::format("{} devices asked for, HIP shows {}", count, found);

    int rtc_major = 0;
    int rtc_minor = 0;
    api_.hiprtcVersion(&rtc_major, &rtc_minor);
    driver_ = "amdhip64 " + version_text(version);
    compiler_ = "hiprtc";
    compiler_version_ = fmt::format("{}.{}", rtc_major, rtc_minor);
    for (int i = 0; i < (count > 0 ? count : found); ++i) {
      if (const std::string problem = describe(hip, i); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  std::string fill(const Library& hip, const Library& rtc) {
    std::string missing;
    const auto find = [&missing](const Library& library, auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library.handle, name));
      if (function == nullptr && missing.empty()) missing = fmt::format("{} has no function {}", library.path, name);
    };
#define WAVETUNE_FROM_HIP(name) find(hip, api_.name, #name);
#define WAVETUNE_FROM_HIP_AS(name, ...) find(hip, api_.name, #name);
#define WAVETUNE_FROM_RTC(name) find(rtc, api_.name, #name);
    WAVETUNE_HIP_FUNCTIONS(WAVETUNE_FROM_HIP)
    WAVETUNE_HIP_OVERLOADED_FUNCTIONS(WAVETUNE_FROM_HIP_AS)
    WAVETUNE_HIPRTC_FUNCTIONS(WAVETUNE_FROM_RTC)
#undef WAVETUNE_FROM_HIP
#undef WAVETUNE_FROM_HIP_AS
#undef WAVETUNE_FROM_RTC
    return missing;
  }

  /// What a HIP without devices most likely lacks here.
  std::string no_device(const Library& hip, const char* call, hipError_t code) const {
    std::string text = fmt::format("{} is there, but {} says {} ({})", hip.path, call, api_.hipGetErrorName(code),
                                   api_.hipGetErrorString(code));
    if (access("/dev/kfd", F_OK) != 0) {
      return text +
             "; /dev/kfd is missing: no AMD GPU, the amdgpu driver is not loaded, or the container lacks "
             "--device=/dev/kfd";
    }
    if (access("/dev/kfd", R_OK | W_OK) != 0) {
      return text + "; /dev/kfd cannot be opened: add this user to the groups render and video";
    }
    return text + "; see HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES";
  }

  std::string describe(const Library& hip, int index) {
    hipDeviceProp_tR0600 properties{};
    using GetProperties = hipError_t (*)(hipDeviceProp_tR0600*, int);
    const auto get_properties = reinterpret_cast<GetProperties>(dlsym(hip.handle, "hipGetDevicePropertiesR0600"));
    if (get_properties == nullptr) return hip.path + " has no function hipGetDevicePropertiesR0600";
    if (const hipError_t code = get_properties(&properties, index); code != hipSuccess) {
      return fmt::format("hipGetDeviceProperties of device {}: {}", index, api_.hipGetErrorName(code));
    }
    DeviceInfo info;
    info.index = index;
    const std::string full_arch = properties.gcnArchName;
    info.arch = full_arch.substr(0, full_arch.find(':'));  // "gfx950:sramecc+:xnack-"
    std::array<char, 256> name{};
    if (api_.hipDeviceGetName(name.data(), static_cast<int>(name.size()), index) == hipSuccess) info.name = name.data();
    if (info.name.empty()) info.name = info.arch;
    size_t bytes = 0;
    if (api_.hipDeviceTotalMem(&bytes, index) == hipSuccess) info.memory_bytes = bytes;
    const auto attribute = [&](hipDeviceAttribute_t which, int otherwise) {
      int value = 0;
      return api_.hipDeviceGetAttribute(&value, which, index) == hipSuccess && value > 0 ? value : otherwise;
    };
    info.cu_count = attribute(hipDeviceAttributeMultiprocessorCount, properties.multiProcessorCount);
    info.limits.arch = info.arch;
    info.limits.wave_size = attribute(hipDeviceAttributeWarpSize, properties.warpSize);
    info.limits.max_block_threads = attribute(hipDeviceAttributeMaxThreadsPerBlock, properties.maxThreadsPerBlock);
    info.limits.lds_bytes =
        attribute(hipDeviceAttributeMaxSharedMemoryPerBlock, static_cast<int>(properties.sharedMemPerBlock));
    info.limits.cu_count = info.cu_count;
    if (info.limits.wave_size != 64) {
      return fmt::format("device {} ({}) has waves of {} lanes; the AMD kernels are written for CDNA's 64", index,
                         info.arch, info.limits.wave_size);
    }
    devices_.push_back(std::move(info));
    return "";
  }
};

}  // namespace

AmdResult make_amd_provider(int count) {
  auto provider = std::make_shared<AmdProvider>();
  std::string problem = provider->open(count);
  if (!problem.empty()) return {nullptr, std::move(problem)};
  const DeviceInfo& first = provider->devices().front();
  std::string detail =
      fmt::format("{}, {} x {} ({})", provider->driver(), provider->devices().size(), first.name, first.arch);
  return {std::move(provider), std::move(detail)};
}

}  // namespace wavetune::hip::amd
