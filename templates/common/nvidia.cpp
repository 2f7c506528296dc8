#include "templates/common/nvidia.h"

#include <charconv>

namespace wavetune::templates {
namespace {

/// 90 for "sm_90a"; 0 for what is not NVIDIA's.
int sm_number(std::string_view arch) {
  constexpr std::string_view prefix = "sm_";
  if (!arch.starts_with(prefix)) return 0;
  arch.remove_prefix(prefix.size());
  int number = 0;
  std::from_chars(arch.data(), arch.data() + arch.size(), number);
  return number;
}

}  // namespace

bool is_nvidia(const DeviceLimits& limits) { return limits.arch.starts_with("sm_"); }

bool has_copy_engine(const DeviceLimits& limits) {
  constexpr int hopper = 90;
  return sm_number(limits.arch) >= hopper;
}

}  // namespace wavetune::templates
