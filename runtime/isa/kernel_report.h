// What the machine code of a kernel says of its hottest loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/isa/instruction.h"
#include "runtime/isa/issue_model.h"

namespace wavetune::isa {

struct LoopReport {
  bool is_loop = false;  ///< false: the kernel has no loop, and all figures are of the whole kernel
  int depth = 0;
  std::uint64_t begin = 0, end = 0;  ///< addresses of the first instruction and behind the last
  std::vector<std::size_t> body;     ///< indices into the kernel's instructions

  int instructions = 0;
  std::array<int, all_kinds.size()> counts{};  ///< by Kind
  int count(Kind kind) const { return counts[static_cast<std::size_t>(kind)]; }

  // Of one wave and one round:
  double flops = 0;         ///< of its MFMAs
  double global_bytes = 0;  ///< that global loads ask for, into registers and into LDS
  double lds_bytes = 0;     ///< that ds_ instructions read and write
  IssueCycles cycles;

  /// Bytes from global memory for each operation; 0 without MFMAs.
  double bytes_per_flop() const { return flops > 0 ? global_bytes / flops : 0.0; }
  /// Operations of one wave in a cycle in which the matrix core is busy: the rate of the formats used.
  double flops_per_matrix_cycle() const { return cycles.matrix > 0 ? flops / cycles.matrix : 0.0; }
};

/// `kernel`: one function in address order, waves of 64 lanes. Throws Error incompatible like model_issue.
LoopReport report_loop(std::span<const Instruction> kernel, std::string_view arch);

}  // namespace wavetune::isa
