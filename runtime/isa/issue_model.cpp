#include "runtime/isa/issue_model.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "db/base/error.h"
#include "runtime/isa/matrix_instruction.h"

namespace wavetune::isa {
namespace {

constexpr int cycles_of_pass = 4;
/// No VALU instruction issues in so many cycles after an MFMA: two passes.
constexpr int valu_shadow = 8;

struct SlowInstruction {
  std::string_view prefix;
  int gfx942;
  int gfx950;
};
/// Transcendental functions run at a quarter of the rate on CDNA3 (16 cycles), at half of it on CDNA4 (8: AMD CDNA4
/// white paper, "doubled transcendental rate"). 32-bit integer products and divisions' helpers are quarter rate.
constexpr SlowInstruction slow[] = {
    {"v_exp_", 16, 8},     {"v_log_", 16, 8},      {"v_rcp_", 16, 8},      {"v_rsq_", 16, 8},
    {"v_sqrt_", 16, 8},    {"v_sin_", 16, 8},      {"v_cos_", 16, 8},      {"v_mul_lo_u32", 16, 16},
    {"v_mul_hi_", 16, 16}, {"v_mad_u64_", 16, 16}, {"v_mad_i64_", 16, 16}, {"v_div_scale_", 16, 16},
};

}  // namespace

int issue_cycles(const Instruction& instruction, std::string_view arch) {
  if (instruction.mnemonic == "s_nop") {
    int n = 0;
    std::from_chars(instruction.operands.data(), instruction.operands.data() + instruction.operands.size(), n);
    return cycles_of_pass * (n + 1);
  }
  if (instruction.kind == Kind::valu) {
    for (const SlowInstruction& line : slow) {
      if (instruction.mnemonic.starts_with(line.prefix)) return arch == "gfx942" ? line.gfx942 : line.gfx950;
    }
  }
  return cycles_of_pass;
}

IssueCycles model_issue(std::span<const Instruction> body, std::string_view arch) {
  struct Step {
    Kind kind;
    int cycles;
  };
  std::vector<Step> steps;
  IssueCycles result;
  for (const Instruction& instruction : body) {
    if (instruction.kind != Kind::mfma) {
      const int cycles = issue_cycles(instruction, arch);
      steps.push_back({instruction.kind, cycles});
      result.other += cycles;
      continue;
    }
    const std::optional<int> cycles = matrix_cycles(instruction, arch);
    if (!cycles) fail(ErrorKind::incompatible, "the cycles of '{}' on {} are not known", instruction.mnemonic, arch);
    steps.push_back({Kind::mfma, *cycles});
    result.matrix += *cycles;
  }

  // Rounds until the state at the start of a round is one that was there before would be exact; the difference over the
  // second half of a fixed number of rounds is the same, since the distances of the three clocks settle at once.
  constexpr int rounds = 16;
  std::int64_t now = 0;          // when the wave can issue next
  std::int64_t matrix_free = 0;  // when the matrix core can take the next MFMA
  std::int64_t valu_free = 0;    // when the shadow of the last MFMA ends
  std::int64_t half = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 2) half = now;
    for (const Step& step : steps) {
      if (step.kind == Kind::mfma) {
        now = std::max(now, matrix_free);
        matrix_free = now + step.cycles;
        valu_free = now + valu_shadow;
        now += cycles_of_pass;
      } else {
        if (step.kind == Kind::valu) now = std::max(now, valu_free);
        now += step.cycles;
      }
    }
  }
  constexpr int counted = rounds - rounds / 2;
  result.overlapped = static_cast<double>(now - half) / counted;
  return result;
}

}  // namespace wavetune::isa
