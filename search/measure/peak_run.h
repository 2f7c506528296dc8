// What a device can do at most, as far as simple kernels show it: the denominators of the roofline.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "runtime/hip/provider.h"

namespace wavetune::measure {

/// A kernel that does `flops` operations and touches next to no memory; its parameter struct is one pointer.
struct PeakKernel {
  std::string name;
  std::string dtype;  ///< what its rate stands for: "f32", "bf16"
  std::uint32_t blocks = 1;
  std::uint32_t threads = 64;
  double flops = 0;
};

struct DevicePeak {
  double bytes_per_us = 0;  ///< device-to-device copy, reads and writes counted; on the CPU from cache
  std::map<std::string, double> flops_per_us;  ///< by dtype
};

/// Best of several runs of a large copy and of each kernel in `code`.
DevicePeak measure_peak(const hip::Provider& provider, int device, std::span<const std::byte> code,
                        const std::vector<PeakKernel>& kernels);

nlohmann::json peak_to_json(const DevicePeak& peak);
DevicePeak peak_from_json(const nlohmann::json& json);
nlohmann::json peak_kernels_to_json(const std::vector<PeakKernel>& kernels);
/// Reads the list in json["kernels"].
std::vector<PeakKernel> peak_kernels_from_json(const nlohmann::json& json);

}  // namespace wavetune::measure
