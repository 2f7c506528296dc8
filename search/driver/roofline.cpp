#include "search/driver/roofline.h"

#include <algorithm>
#include <string>

namespace wavetune::search {

double flops_per_us(const measure::DevicePeak& peak, std::string_view dtype) {
  auto rate = peak.flops_per_us.find(std::string(dtype.substr(0, dtype.find('_'))));
  // A device whose rate in a narrow format is not known does at least as well as in bf16.
  if (rate == peak.flops_per_us.end() && (dtype.starts_with("fp8") || dtype.starts_with("mx")))
    rate = peak.flops_per_us.find("bf16");
  if (rate == peak.flops_per_us.end()) rate = peak.flops_per_us.find("f32");
  return rate == peak.flops_per_us.end() ? 0 : rate->second;
}

double roofline_us(const templates::Cost& cost, const measure::DevicePeak& peak, std::string_view dtype) {
  const double rate = flops_per_us(peak, dtype);
  const double compute = rate > 0 ? cost.flops / rate : 0;
  const double memory = peak.bytes_per_us > 0 ? cost.bytes / peak.bytes_per_us : 0;
  return std::max(compute, memory);
}

}  // namespace wavetune::search
