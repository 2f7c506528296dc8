#include "runtime/isa/occupancy.h"

#include <fmt/format.h>

#include <algorithm>

namespace wavetune::isa {
namespace {

int round_up(int value, int granule) { return (value + granule - 1) / granule * granule; }
int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// LLVM's getOccupancyWithNumSGPRs for GFX8 and 9: up to 100 leave eight waves, more leave seven. A wave cannot have
/// more than 102 plus VCC and the like, so nothing below seven exists.
int waves_by_sgprs(int sgprs, const CuLimits& limits) {
  return sgprs <= limits.sgprs_at_full_occupancy ? limits.waves_per_simd : limits.waves_per_simd - 1;
}

/// LLVM's getOccupancyWithWorkGroupSizes, which leaves out the granule of LDS.
int waves_by_llvm(const BlockNeeds& needs, int waves_per_block, const CuLimits& limits) {
  int blocks = limits.waves_per_simd * limits.simds / waves_per_block;
  if (waves_per_block > 1) blocks = std::min(blocks, limits.blocks_with_barriers);
  if (needs.lds_bytes > 0) blocks = std::min(blocks, limits.lds_bytes / needs.lds_bytes);
  return std::clamp(ceil_div(blocks * waves_per_block, limits.simds), 1, limits.waves_per_simd);
}

}  // namespace

std::optional<CuLimits> cu_limits(std::string_view arch) {
  CuLimits limits;
  if (arch == "gfx950") {
    limits.arch = "gfx950";
    limits.lds_bytes = 163840;
    limits.lds_granule = 1280;
    return limits;
  }
  if (arch == "gfx942") {
    limits.arch = "gfx942";
    return limits;
  }
  if (arch == "gfx90a") {
    limits.arch = "gfx90a";
    return limits;
  }
  return std::nullopt;
}

int unified_vgprs(int arch_vgprs, int acc_vgprs) {
  return acc_vgprs == 0 ? arch_vgprs : round_up(arch_vgprs, 4) + acc_vgprs;
}

BlockNeeds block_needs(const db::Resources& resources, int threads, int dynamic_lds_bytes) {
  BlockNeeds needs;
  needs.threads = threads;
  needs.vgprs = resources.vgpr.value_or(0);
  needs.sgprs = resources.sgpr.value_or(0);
  needs.lds_bytes = resources.lds_bytes.value_or(0) + dynamic_lds_bytes;
  return needs;
}

std::string_view to_string(Limiter limiter) {
  switch (limiter) {
    case Limiter::wave_slots:
      return "wave slots";
    case Limiter::vgpr:
      return "VGPRs";
    case Limiter::sgpr:
      return "SGPRs";
    case Limiter::lds:
      return "LDS";
    case Limiter::block_slots:
      return "block slots";
    case Limiter::threads:
      return "threads";
  }
  return "unknown";
}

std::string NotResident::reason() const {
  switch (limiter) {
    case Limiter::vgpr:
      return fmt::format("a block needs {} waves at once, its registers leave room for {} on a compute unit", needed,
                         available);
    case Limiter::sgpr:
    case Limiter::wave_slots:
    case Limiter::block_slots:
      return fmt::format("a block needs {} waves at once, a compute unit holds {}", needed, available);
    case Limiter::lds:
      return fmt::format("a block needs {} bytes of LDS, a compute unit has {}", needed, available);
    case Limiter::threads:
      return fmt::format("a block of {} threads; the architecture allows {}", needed, available);
  }
  return "does not fit into a compute unit";
}

int waves_by_vgprs(int vgprs, const CuLimits& limits) {
  const int allocated = round_up(std::max(vgprs, 1), limits.vgpr_granule);
  return std::min(limits.waves_per_simd, limits.vgprs_per_simd / allocated);
}

OccupancyResult occupancy(const BlockNeeds& needs, const CuLimits& limits) {
  if (needs.threads < 1 || needs.threads > limits.block_threads)
    return NotResident{Limiter::threads, needs.threads, limits.block_threads};
  if (needs.lds_bytes > limits.lds_bytes) return NotResident{Limiter::lds, needs.lds_bytes, limits.lds_bytes};

  const int waves_per_block = ceil_div(needs.threads, limits.wave_size);
  const int by_vgpr = waves_by_vgprs(needs.vgprs, limits);
  const int by_sgpr = waves_by_sgprs(needs.sgprs, limits);
  // Registers bound the waves of one SIMD: a block whose waves do not divide evenly leaves slots unused.
  const auto blocks_of_waves = [&](int waves_per_simd) {
    return waves_per_simd / ceil_div(waves_per_block, limits.simds) > 0
               ? waves_per_simd * limits.simds / waves_per_block
               : 0;
  };
  struct Bound {
    Limiter limiter;
    int blocks;
  };
  // In this order the first of equals is named: what the hardware gives anyway before what the kernel asks for.
  const int unlimited = limits.waves_per_simd * limits.simds;
  const Bound bounds[] = {
      {Limiter::wave_slots, blocks_of_waves(limits.waves_per_simd)},
      {Limiter::vgpr, blocks_of_waves(by_vgpr)},
      {Limiter::sgpr, blocks_of_waves(by_sgpr)},
      {Limiter::lds,
       needs.lds_bytes > 0 ? limits.lds_bytes / round_up(needs.lds_bytes, limits.lds_granule) : unlimited},
      {Limiter::block_slots, waves_per_block > 1 ? limits.blocks_with_barriers : unlimited},
  };
  const Bound& tightest = *std::min_element(std::begin(bounds), std::end(bounds),
                                            [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  if (tightest.blocks == 0) {
    const int waves = tightest.limiter == Limiter::vgpr ? by_vgpr : by_sgpr;
    return NotResident{tightest.limiter, waves_per_block, waves * limits.simds};
  }
  Occupancy result;
  result.blocks_per_cu = tightest.blocks;
  result.waves_per_cu = tightest.blocks * waves_per_block;
  result.waves_per_simd = ceil_div(result.waves_per_cu, limits.simds);
  result.limiter = tightest.limiter;
  result.compiler_waves_per_simd = std::min({by_vgpr, by_sgpr, waves_by_llvm(needs, waves_per_block, limits)});
  return result;
}

}  // namespace wavetune::isa
