#include "search/measure/clock_probe.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include "runtime/hip/handles.h"

namespace wavetune::measure {
namespace {

/// The part of NVML that is used. Its library comes with the driver; once loaded it stays.
struct Nvml {
  using Device = struct NvmlDevice*;
  int (*init)() = nullptr;
  int (*device_by_bus_id)(const char*, Device*) = nullptr;
  int (*clock_info)(Device, unsigned, unsigned*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  bool usable = false;
};

constexpr unsigned nvml_clock_sm = 1;
constexpr unsigned nvml_temperature_gpu = 0;
// nvmlClocksThrottleReasons: hardware slowdown, software and hardware thermal slowdown, power brake. The software power
// cap is not among them: a kernel that draws that much always runs at that clock.
constexpr unsigned long long nvml_slowdown = 0x8 | 0x20 | 0x40 | 0x80;

const Nvml& nvml() {
  static const Nvml loaded = [] {
    Nvml functions;
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return functions;
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    const bool there = find(functions.init, "nvmlInit_v2") &&
                       find(functions.device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
                       find(functions.clock_info, "nvmlDeviceGetClockInfo") &&
                       find(functions.power_usage, "nvmlDeviceGetPowerUsage") &&
                       find(functions.temperature, "nvmlDeviceGetTemperature") &&
                       find(functions.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    functions.usable = there && functions.init() == 0;
    return functions;
  }();
  return loaded;
}

class NvmlProbe : public ClockProbe {
 public:
  explicit NvmlProbe(Nvml::Device device) : device_(device) {}

  ClockReading read() override {
    const Nvml& functions = nvml();
    ClockReading reading;
    unsigned value = 0;
    if (functions.clock_info(device_, nvml_clock_sm, &value) == 0) reading.clock_mhz = static_cast<int>(value);
    if (functions.power_usage(device_, &value) == 0) reading.power_w = static_cast<int>(value / 1000);
    if (functions.temperature(device_, nvml_temperature_gpu, &value) == 0)
      reading.temperature_c = static_cast<int>(value);
    unsigned long long reasons = 0;
    reading.slowed_down = functions.throttle_reasons(device_, &reasons) == 0 && (reasons & nvml_slowdown) != 0;
    return reading;
  }

 private:
  Nvml::Device device_;
};

/// Of a file with one number; nothing when there is none.
std::optional<double> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

class SysfsProbe : public ClockProbe {
 public:
  explicit SysfsProbe(std::filesystem::path hwmon) : hwmon_(std::move(hwmon)) {}

  ClockReading read() override {
    const auto scaled = [this](const char* name, double unit) -> std::optional<int> {
      const std::optional<double> value = number_in(hwmon_ / name);
      return value ? std::optional(static_cast<int>(*value / unit)) : std::nullopt;
    };
    ClockReading reading;
    reading.clock_mhz = scaled("freq1_input", 1e6);   // Hz
    reading.power_w = scaled("power1_average", 1e6);  // microwatts
    if (!reading.power_w) reading.power_w = scaled("power1_input", 1e6);
    reading.temperature_c = scaled("temp1_input", 1e3);
    return reading;
  }

 private:
  std::filesystem::path hwmon_;
};

}  // namespace

std::unique_ptr<ClockProbe> sysfs_clock_probe(const std::filesystem::path& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "hwmon", none))
    return std::make_unique<SysfsProbe>(entry.path());
  return nullptr;
}

std::unique_ptr<ClockProbe> make_clock_probe(const hip::Provider& provider, int device) {
  if (provider.kind() == hip::ProviderKind::cpu) return nullptr;
  std::array<char, 32> bus_id{};
  const hip::Api& api = provider.api();
  if (api.hipDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), device) != hipSuccess) return nullptr;
  if (provider.kind() == hip::ProviderKind::cuda) {
    Nvml::Device handle = nullptr;
    if (!nvml().usable || nvml().device_by_bus_id(bus_id.data(), &handle) != 0) return nullptr;
    return std::make_unique<NvmlProbe>(handle);
  }
  std::string name = bus_id.data();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return sysfs_clock_probe(std::filesystem::path("/sys/bus/pci/devices") / name);
}

}  // namespace wavetune::measure
