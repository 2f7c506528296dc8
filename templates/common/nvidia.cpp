#include "templates/common/nvidia.h"

#include <charconv>

#include "db/base/error.h"
#include "templates/common/launch.h"

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

bool has_copy_engine(const DeviceLimits& limits) {
  constexpr int hopper = 90;
  return sm_number(limits.arch) >= hopper;
}

void require_bulk_rows(const View& view, DType type, std::string_view op, std::string_view operand) {
  constexpr std::int64_t unit = 16;
  if (!vector_aligned(view, type, unit / static_cast<std::int64_t>(size_of(type)))) {
    fail(ErrorKind::usage, "{}: rows of {} must begin at multiples of {} bytes in configurations with stages", op,
         operand, unit);
  }
}

}  // namespace wavetune::templates
