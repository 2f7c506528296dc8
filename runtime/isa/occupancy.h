// How many blocks and waves a compute unit of CDNA holds at once, from what a kernel needs: registers, LDS, threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "db/trial.h"

namespace wavetune::isa {

/// What one compute unit (CU) has to give. Registers are counted per lane: a wave that uses 128 VGPRs takes 128.
struct CuLimits {
  std::string_view arch;
  int wave_size = 64;
  int simds = 4;
  int waves_per_simd = 8;
  int vgprs_per_simd = 512;  ///< one file for architectural and accumulation registers (gfx90a and later)
  int vgpr_granule = 8;
  int sgprs_per_simd = 800;
  int sgprs_at_full_occupancy = 100;  ///< more than this per wave: one wave less (see occupancy.cpp)
  int lds_bytes = 65536;
  int lds_granule = 512;
  int block_threads = 1024;
  int blocks_with_barriers = 16;  ///< blocks of more than one wave hold one of these
};

/// Limits of "gfx950", "gfx942" or "gfx90a"; nothing for other architectures (no AMD code object, or not CDNA).
std::optional<CuLimits> cu_limits(std::string_view arch);

/// What one block of a kernel needs.
struct BlockNeeds {
  int threads = 64;
  int vgprs = 0;      ///< unified total (architectural, aligned, plus accumulation), as a code object's .vgpr_count
  int sgprs = 0;      ///< as .sgpr_count
  int lds_bytes = 0;  ///< static and dynamic
};

/// The unified register count of `arch_vgprs` architectural and `acc_vgprs` accumulation registers: the accumulation
/// part begins at a multiple of 4 (ACCUM_OFFSET).
int unified_vgprs(int arch_vgprs, int acc_vgprs);

/// Needs of a launch of `threads` threads and `dynamic_lds_bytes`. Figures that `resources` does not have count as 0.
BlockNeeds block_needs(const db::Resources& resources, int threads, int dynamic_lds_bytes);

enum class Limiter {
  wave_slots,  ///< nothing else: 8 waves a SIMD
  vgpr,
  sgpr,
  lds,
  block_slots,  ///< 16 blocks with barriers
  threads,      ///< only as the reason of NotResident
};
std::string_view to_string(Limiter limiter);

struct Occupancy {
  int waves_per_simd = 0;  ///< on the fullest SIMD
  int blocks_per_cu = 0;
  int waves_per_cu = 0;
  Limiter limiter = Limiter::wave_slots;  ///< what keeps the next block out
  /// What the compiler's remark (-Rpass-analysis=kernel-resource-usage) calls "Occupancy [waves/SIMD]". It is larger
  /// where registers leave room for a part of a block only, or where LDS fits before it is rounded up to granules: LLVM
  /// counts neither.
  int compiler_waves_per_simd = 0;
};

/// Not even one block fits into an empty CU.
struct NotResident {
  Limiter limiter = Limiter::lds;
  int needed = 0;     ///< of what `limiter` names: registers per wave, bytes, threads, or waves
  int available = 0;  ///< same unit
  std::string reason() const;
};

using OccupancyResult = std::variant<Occupancy, NotResident>;

/// Sources: facts of the AMD Instinct MI300 and MI350 instruction set guides (512 VGPRs per lane and SIMD in granules
/// of 8, 8 waves per SIMD, LDS 64 and 160 KiB) and LLVM's AMDGPUBaseInfo.cpp for granules and block slots.
OccupancyResult occupancy(const BlockNeeds& needs, const CuLimits& limits);

/// Waves per SIMD that the unified register count alone allows: min(8, 512 / rounded up to 8); 0 above 512.
int waves_by_vgprs(int vgprs, const CuLimits& limits);

}  // namespace wavetune::isa
