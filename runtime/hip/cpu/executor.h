// Executes a grid: blocks in parallel on TBB, the threads of a block on fibers that meet at barriers and wave
// operations.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "templates/prelude/cpu_abi.hip"

namespace wavetune::hip::cpu {

/// What a loaded kernel needs beyond its entry. One per module and kernel, shared by all launches.
struct KernelState {
  const wt_cpu::Entry* entry = nullptr;
  std::atomic<unsigned>* shared_slots = nullptr;  ///< of the module: how many of its __shared__ variables have a slot
  std::atomic<float> block_nanoseconds{0};  ///< recent time of a block: tiny grids are not worth waking other cores
};

struct GridLaunch {
  KernelState* kernel = nullptr;
  wt_cpu::Dim grid{1, 1, 1};
  wt_cpu::Dim block{1, 1, 1};
  unsigned lds_bytes = 0;
  void* const* arguments = nullptr;
};

/// Runs all blocks to their end. Returns what went wrong in the first block that failed (threads that wait for each
/// other for ever, more LDS than there is); other blocks may then not have run.
std::optional<std::string> run_grid(const GridLaunch& launch);

}  // namespace wavetune::hip::cpu
