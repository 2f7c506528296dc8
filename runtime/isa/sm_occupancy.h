// How many blocks and waves (warps) an SM of an NVIDIA GPU holds at once; the words are those of occupancy.h.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/isa/occupancy.h"

namespace wavetune::isa {

/// What one streaming multiprocessor (SM) has to give. Its four partitions are the SIMDs of occupancy.h.
struct SmLimits {
  int partitions = 4;
  int waves = 64;
  int blocks = 32;
  int registers = 65536;
  int registers_per_thread = 255;
  int register_granule = 256;  ///< that the registers of a warp are rounded up to
  int lds_bytes = 233472;
  int lds_granule = 128;
  int reserved_lds_bytes = 1024;  ///< the system's, of every block
  int block_lds_bytes = 232448;   ///< that one block can ask for
  int block_threads = 1024;
};

/// Limits of "sm_80", "sm_90a", "sm_100a", ...; nothing for other architectures. Source: CUDA C++ Programming Guide,
/// technical specifications per compute capability.
std::optional<SmLimits> sm_limits(std::string_view arch);

/// As NVIDIA's occupancy calculator counts: registers are given to a warp in granules, from the file of its partition.
/// `needs.vgprs` are the registers of a thread; scalar registers do not count.
OccupancyResult sm_occupancy(const BlockNeeds& needs, const SmLimits& limits);

/// occupancy() or sm_occupancy(), whichever `arch` takes; nothing for an architecture that neither knows (cpu).
std::optional<OccupancyResult> occupancy_on(std::string_view arch, const BlockNeeds& needs);

}  // namespace wavetune::isa
