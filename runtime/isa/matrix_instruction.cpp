#include "runtime/isa/matrix_instruction.h"

#include <charconv>

namespace wavetune::isa {
namespace {

constexpr int cycles_of_pass = 4;

// Format codes of cbsz (A) and blgp (B): 0 e4m3 and 1 e5m2 are 8 bits wide, 2 and 3 FP6, 4 FP4.
constexpr int first_narrow_format = 2;

/// Reads a number off the front of `text`.
bool take_number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

struct Passes {
  int m;
  int blocks;
  std::string_view input;  ///< empty: every one that is not named otherwise
  int gfx942;
  int gfx950;
};
/// The first line that fits counts. k does not matter: each format has its own k for the same passes, and on gfx950 the
/// older, shorter instructions take as long as the new ones of twice the k.
constexpr Passes table[] = {
    {16, 1, "f64", 8, 16}, {4, 4, "f64", 4, 4}, {16, 1, "f32", 8, 8}, {32, 1, "f32", 16, 16}, {16, 1, "", 4, 4},
    {32, 1, "", 8, 8},     {4, 16, "", 2, 2},   {16, 4, "", 8, 8},    {32, 2, "", 16, 16},
};

}  // namespace

std::optional<MatrixShape> matrix_shape(const Instruction& instruction) {
  std::string_view name = instruction.mnemonic;
  if (!take(name, "v_mfma_")) return std::nullopt;
  (void)take(name, "scale_");
  // Result type: f32_, i32_, f64_.
  const std::size_t bar = name.find('_');
  if (bar == std::string_view::npos) return std::nullopt;
  name.remove_prefix(bar + 1);
  MatrixShape shape;
  if (!take_number(name, shape.m) || !take(name, "x") || !take_number(name, shape.n) || !take(name, "x") ||
      !take_number(name, shape.k) || !take(name, "_")) {
    return std::nullopt;
  }
  // "4b_": blocks; "bf16", "f8f6f4" begin with a letter.
  if (int blocks = 0; take_number(name, blocks)) {
    if (!take(name, "b_")) return std::nullopt;
    shape.blocks = blocks;
  }
  shape.input = name;
  return shape;
}

std::optional<int> matrix_cycles(const Instruction& instruction, std::string_view arch) {
  const std::optional<MatrixShape> shape = matrix_shape(instruction);
  if (!shape || (arch != "gfx942" && arch != "gfx950")) return std::nullopt;
  const bool wide = shape->input == "f8f6f4" && (instruction.modifier("cbsz") < first_narrow_format ||
                                                 instruction.modifier("blgp") < first_narrow_format);
  for (const Passes& line : table) {
    if (line.m != shape->m || line.blocks != shape->blocks) continue;
    if (!line.input.empty() && line.input != shape->input) continue;
    return (arch == "gfx942" ? line.gfx942 : line.gfx950) * cycles_of_pass * (wide ? 2 : 1);
  }
  return std::nullopt;
}

}  // namespace wavetune::isa
