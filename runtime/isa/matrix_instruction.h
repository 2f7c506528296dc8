// What one matrix instruction (v_mfma_*) multiplies, and for how long it holds the matrix core.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/isa/instruction.h"

namespace wavetune::isa {

/// D[m,n] += A[m,k] B[k,n], `blocks` times.
struct MatrixShape {
  int m = 0, n = 0, k = 0;
  int blocks = 1;
  std::string input;  ///< "bf16", "f16", "f32", "fp8_fp8", "i8", "f8f6f4", ...

  double flops() const { return 2.0 * m * n * k * blocks; }
};

/// Nothing for other instructions, and for matrix instructions whose name is not of the known form.
std::optional<MatrixShape> matrix_shape(const Instruction& instruction);

/// Cycles for which the instruction holds the matrix core: passes of 4 cycles.
///
/// Sources: LLVM's SISchedule.td (SIDPGFX942FullSpeedModel, SIDPGFX950FullSpeedModel) as llvm-mca 22 prints them,
/// except for f8f6f4 with an FP8 operand, which takes twice the passes of one with FP4 and FP6 operands only (AMD CDNA4
/// ISA guide; LLVM's PredIsF8_MFMA_SCALE). `arch` is "gfx942" or "gfx950"; nothing for other architectures and
/// instructions that are not in the table.
std::optional<int> matrix_cycles(const Instruction& instruction, std::string_view arch);

}  // namespace wavetune::isa
