// How well a loop keeps the matrix core busy: cycles of its MFMAs against the cycles that one wave needs to issue it.
//
// Two figures for the loop body, both for one wave alone on its SIMD and without any memory latency or bank conflict:
//
//   serial      MFMA cycles / (MFMA cycles + cycles of all other instructions): nothing runs beside an MFMA. A lower
//               bound that one wave reaches whatever the order of its instructions.
//   overlapped  MFMA cycles / length of the body when the wave issues in order and goes on while the matrix core works:
//               - every instruction takes its issue cycles: 4 (one pass of a 64-lane wave over 16 lanes); slow VALU
//                 instructions as in the table of issue_model.cpp; s_nop N is 4 (N + 1);
//               - an MFMA issues when the matrix core is free, and holds it for the cycles of matrix_cycles();
//               - a VALU instruction does not issue in the first two passes (8 cycles) of an MFMA;
//               - everything else (LDS, memory, scalar, waits, branches) issues beside it.
//               The body is repeated until its length is steady, so that work of one round fills gaps of the next.
//               What a loop can reach when its loads arrive in time.
//
// Waiting for results is not modelled beyond what the code says: CDNA's compilers put s_nop where the hardware would
// not wait for an MFMA's result by itself.
//
// Sources: AMD CDNA3 and CDNA4 instruction set guides (4-cycle issue, passes); LLVM SISchedule.td for passes and slow
// instructions; LLVM pull request 184084 ("VALU cannot co-issue in the first two passes of an MFMA").
#pragma once

#include <span>
#include <string_view>

#include "runtime/isa/instruction.h"

namespace wavetune::isa {

struct IssueCycles {
  int matrix = 0;         ///< in which the matrix core is busy
  int other = 0;          ///< of all other instructions
  double overlapped = 0;  ///< length of one round in the overlapped model

  int serial() const { return matrix + other; }
  double serial_share() const { return serial() > 0 ? static_cast<double>(matrix) / serial() : 0.0; }
  double overlapped_share() const { return overlapped > 0 ? matrix / overlapped : 0.0; }
};

/// Cycles that an instruction other than an MFMA takes to issue.
int issue_cycles(const Instruction& instruction, std::string_view arch);

/// `body` in the order in which it is issued. Throws Error incompatible for an architecture or a matrix instruction
/// whose cycles are not known, naming it.
IssueCycles model_issue(std::span<const Instruction> body, std::string_view arch);

}  // namespace wavetune::isa
