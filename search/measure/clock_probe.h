// What a device says of its clock, power and temperature: through NVML for NVIDIA's, through the kernel's sysfs for
// AMD's.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/hip/provider.h"

namespace wavetune::measure {

struct ClockReading {
  std::optional<int> clock_mhz;  ///< of the compute units
  std::optional<int> power_w;
  std::optional<int> temperature_c;
  bool slowed_down = false;  ///< the driver says that heat or the power supply holds the clock down
};

/// Some tens of microseconds a call. Never throws: what the driver does not tell stays empty.
class ClockProbe {
 public:
  virtual ~ClockProbe() = default;
  virtual ClockReading read() = 0;
};

/// Null when there is none (CPU; no NVML or sysfs entry for the device).
std::unique_ptr<ClockProbe> make_clock_probe(const hip::Provider& provider, int device);

/// A probe of an AMD GPU by its folder, /sys/bus/pci/devices/<bus id>. Null when it has no hwmon folder.
std::unique_ptr<ClockProbe> sysfs_clock_probe(const std::filesystem::path& folder);

}  // namespace wavetune::measure
