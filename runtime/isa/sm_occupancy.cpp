#include "runtime/isa/sm_occupancy.h"

#include <algorithm>

namespace wavetune::isa {
namespace {

constexpr int warp_lanes = 32;

int round_up(int value, int granule) { return (value + granule - 1) / granule * granule; }
int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace

std::optional<SmLimits> sm_limits(std::string_view arch) {
  // The variant with own instructions ("sm_90a") is the same chip.
  if (arch.ends_with('a')) arch.remove_suffix(1);
  SmLimits limits;
  if (arch == "sm_90" || arch == "sm_100" || arch == "sm_103") return limits;
  if (arch == "sm_80") {
    limits.lds_bytes = 167936;
    limits.block_lds_bytes = 166912;
    return limits;
  }
  if (arch == "sm_86" || arch == "sm_89" || arch == "sm_120") {
    limits.waves = 48;
    limits.blocks = arch == "sm_86" ? 16 : 24;
    limits.lds_bytes = 102400;
    limits.block_lds_bytes = 101376;
    return limits;
  }
  return std::nullopt;
}

OccupancyResult sm_occupancy(const BlockNeeds& needs, const SmLimits& limits) {
  if (needs.threads < 1 || needs.threads > limits.block_threads)
    return NotResident{Limiter::threads, needs.threads, limits.block_threads};
  if (needs.lds_bytes > limits.block_lds_bytes)
    return NotResident{Limiter::lds, needs.lds_bytes, limits.block_lds_bytes};

  const int waves_per_block = ceil_div(needs.threads, warp_lanes);
  const int wave_registers = round_up(std::max(needs.vgprs, 1) * warp_lanes, limits.register_granule);
  const int waves_by_registers = needs.vgprs > limits.registers_per_thread
                                     ? 0
                                     : limits.registers / limits.partitions / wave_registers * limits.partitions;
  // The check of a launch counts a block's warps as if all partitions had the same number.
  if (round_up(waves_per_block, limits.partitions) > waves_by_registers)
    return NotResident{Limiter::vgpr, waves_per_block, waves_by_registers};
  struct Bound {
    Limiter limiter;
    int blocks;
  };
  // In this order the first of equals is named: what the hardware gives anyway before what the kernel asks for.
  const Bound bounds[] = {
      {Limiter::wave_slots, limits.waves / waves_per_block},
      {Limiter::block_slots, limits.blocks},
      {Limiter::vgpr, waves_by_registers / waves_per_block},
      {Limiter::lds, limits.lds_bytes / round_up(needs.lds_bytes + limits.reserved_lds_bytes, limits.lds_granule)},
  };
  const Bound& tightest = *std::min_element(std::begin(bounds), std::end(bounds),
                                            [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  Occupancy result;
  result.blocks_per_cu = tightest.blocks;
  result.waves_per_cu = tightest.blocks * waves_per_block;
  result.waves_per_simd = ceil_div(result.waves_per_cu, limits.partitions);
  result.compiler_waves_per_simd = result.waves_per_simd;
  result.limiter = tightest.limiter;
  return result;
}

std::optional<OccupancyResult> occupancy_on(std::string_view arch, const BlockNeeds& needs) {
  if (const auto unit = cu_limits(arch)) return occupancy(needs, *unit);
  if (const auto unit = sm_limits(arch)) return sm_occupancy(needs, *unit);
  return std::nullopt;
}

}  // namespace wavetune::isa
