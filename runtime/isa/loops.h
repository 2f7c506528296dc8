// Loops of a kernel: natural loops of its control flow graph, and the one in which it spends its time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/isa/instruction.h"

namespace wavetune::isa {

struct Loop {
  std::vector<std::size_t> body;  ///< indices of its instructions, ascending, nested loops included
  std::vector<std::size_t> own;   ///< those that belong to no nested loop
  int depth = 1;                  ///< 1: in no other loop
};

/// All natural loops, in the order of their headers: a branch back to a block that dominates it makes one; branches to
/// the same header make one together. `kernel` is one function in address order. Branches out of it (calls, tail calls)
/// count as leaving.
std::vector<Loop> find_loops(std::span<const Instruction> kernel);

/// The loop that does the work: the one with most MFMA flops in its own instructions, else the deepest, of those the
/// longest. Nullptr without loops.
const Loop* hottest_loop(std::span<const Instruction> kernel, std::span<const Loop> loops);

}  // namespace wavetune::isa
