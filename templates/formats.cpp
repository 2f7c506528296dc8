#include "templates/formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Code of a non-negative finite number in a format with `mantissa_bits` and exponent bias `bias`, rounded to nearest
/// even, not clamped. Adding half a step less the tie to the bits carries into the exponent by itself.
std::uint32_t narrow(float magnitude, int mantissa_bits, int bias) {
  const int smallest_exponent = 1 - bias;
  if (magnitude < std::ldexp(1.0f, smallest_exponent)) {
    // Subnormal: a multiple of the smallest step. The product is exact, nearbyint rounds to even.
    return static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - smallest_exponent)));
  }
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  const int dropped = 23 - mantissa_bits;
  const std::uint32_t rounded = bits + ((1u << (dropped - 1)) - 1u) + ((bits >> dropped) & 1u);
  return (rounded >> dropped) - (static_cast<std::uint32_t>(127 - bias) << mantissa_bits);
}

float widen(std::uint32_t code, int mantissa_bits, int bias) {
  const std::uint32_t exponent = code >> mantissa_bits, mantissa = code & ((1u << mantissa_bits) - 1u);
  if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  return std::ldexp(static_cast<float>(mantissa + (1u << mantissa_bits)),
                    static_cast<int>(exponent) - bias - mantissa_bits);
}

/// NaN when there is one.
float largest_magnitude(std::span<const float> values) {
  float amax = 0.0f;
  for (float value : values) {
    if (std::isnan(value)) return nan;
    amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

float fp8_scale(float amax) { return std::max(std::isnan(amax) ? 0.0f : amax, fp8_smallest_amax) / fp8_largest; }

}  // namespace

std::uint8_t fp8_from_float(float value) {
  const auto sign = static_cast<std::uint32_t>(std::signbit(value)) << 7;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | fp8_nan);
  return static_cast<std::uint8_t>(sign | narrow(std::min(std::fabs(value), fp8_largest), 3, 7));
}

float float_from_fp8(std::uint8_t code) {
  const float sign = (code & 0x80) != 0 ? -1.0f : 1.0f;
  const std::uint32_t magnitude = code & 0x7Fu;
  return magnitude == fp8_nan ? nan : sign * widen(magnitude, 3, 7);
}

std::uint8_t fp4_from_float(float value) {
  const auto sign = static_cast<std::uint32_t>(std::signbit(value)) << 3;
  const float magnitude = std::fabs(value) < fp4_largest ? std::fabs(value) : fp4_largest;  // NaN too
  return static_cast<std::uint8_t>(sign | narrow(magnitude, 1, 1));
}

float float_from_fp4(std::uint8_t code) { return ((code & 8) != 0 ? -1.0f : 1.0f) * widen(code & 7u, 1, 1); }

std::uint8_t e8m0_from_float(float value) {
  if (std::isnan(value)) return e8m0_nan;
  if (!(value > 0.0f)) return 0;
  return static_cast<std::uint8_t>(std::min(std::bit_cast<std::uint32_t>(value) >> 23, 254u));
}

float float_from_e8m0(std::uint8_t code) { return code == e8m0_nan ? nan : std::ldexp(1.0f, code - 127); }

std::uint8_t fp4_code(std::span<const std::uint8_t> packed, std::size_t index) {
  return (packed[index / 2] >> (index % 2 * 4)) & 0xF;
}

void set_fp4_code(std::span<std::uint8_t> packed, std::size_t index, std::uint8_t code) {
  const unsigned shift = index % 2 * 4;
  packed[index / 2] = static_cast<std::uint8_t>((packed[index / 2] & (0xF0u >> shift)) | ((code & 0xFu) << shift));
}

std::uint8_t mx_scale_even(float amax) {
  if (std::isnan(amax)) return e8m0_nan;
  // Half a step of e2m1's one mantissa bit: 1.75 carries into the exponent.
  const int exponent = static_cast<int>((std::bit_cast<std::uint32_t>(amax) + (1u << 21)) >> 23);
  constexpr int largest_element_exponent = 2;
  if (exponent >= 255) return 254;
  return static_cast<std::uint8_t>(std::max(exponent - largest_element_exponent, 0));
}

std::uint8_t quantize_mxfp4(std::span<const float> values, std::span<std::uint8_t> packed) {
  if (values.size() > mx_block || values.size() != 2 * packed.size()) {
    fail(ErrorKind::internal, "an MX block of {} values and {} bytes", values.size(), packed.size());
  }
  const std::uint8_t scale = mx_scale_even(largest_magnitude(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    set_fp4_code(packed, i, fp4_from_float(std::ldexp(values[i], 127 - scale)));
  }
  return scale;
}

float quantize_fp8(std::span<const float> values, std::span<std::uint8_t> codes) {
  if (values.size() != codes.size()) fail(ErrorKind::internal, "{} codes for {} values", codes.size(), values.size());
  const float scale = fp8_scale(largest_magnitude(values)), inverse = 1.0f / scale;
  for (std::size_t i = 0; i < values.size(); ++i) codes[i] = fp8_from_float(values[i] * inverse);
  return scale;
}

void quantize_fp8_blocks(std::span<const float> values, std::size_t rows, std::size_t cols,
                         std::span<std::uint8_t> codes, std::span<float> scales) {
  const std::size_t block_cols = (cols + fp8_group - 1) / fp8_group;
  if (values.size() != rows * cols || codes.size() != rows * cols ||
      scales.size() != (rows + fp8_group - 1) / fp8_group * block_cols) {
    fail(ErrorKind::internal, "{} values, {} codes and {} scales for a weight of {} x {}", values.size(), codes.size(),
         scales.size(), rows, cols);
  }
  for (std::size_t row = 0; row < rows; row += fp8_group) {
    const std::size_t row_end = std::min(rows, row + fp8_group);
    for (std::size_t col = 0; col < cols; col += fp8_group) {
      const std::size_t width = std::min(cols - col, fp8_group);
      float amax = 0.0f;
      for (std::size_t r = row; r < row_end; ++r) {
        const float of_row = largest_magnitude(values.subspan(r * cols + col, width));
        if (!std::isnan(of_row)) amax = std::max(amax, of_row);
      }
      const float scale = fp8_scale(amax), inverse = 1.0f / scale;
      scales[row / fp8_group * block_cols + col / fp8_group] = scale;
      for (std::size_t r = row; r < row_end; ++r) {
        for (std::size_t i = 0; i < width; ++i) {
          codes[r * cols + col + i] = fp8_from_float(values[r * cols + col + i] * inverse);
        }
      }
    }
  }
}

}  // namespace wavetune::templates
