#include "templates/dtype.h"

#include <bit>

#include "db/base/error.h"

namespace wavetune::templates {

std::string_view to_string(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::fp8:
      return "fp8";
    case DType::fp4:
      return "fp4";
    case DType::e8m0:
      return "e8m0";
    case DType::f64:
      return "f64";
    case DType::i8:
      return "i8";
    case DType::i16:
      return "i16";
    case DType::u16:
      return "u16";
    case DType::u32:
      return "u32";
    case DType::u64:
      return "u64";
  }
  return "?";
}

std::optional<DType> dtype_from_string(std::string_view word) {
  for (DType type : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8, DType::fp8, DType::fp4,
                     DType::e8m0, DType::f64, DType::i8, DType::i16, DType::u16, DType::u32, DType::u64}) {
    if (to_string(type) == word) return type;
  }
  return std::nullopt;
}

bool is_integer(DType type) {
  switch (type) {
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return true;
    default:
      return false;
  }
}

std::size_t bits_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 32;
    case DType::bf16:
    case DType::f16:
    case DType::i16:
    case DType::u16:
      return 16;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 64;
    case DType::i8:
    case DType::u8:
    case DType::fp8:
    case DType::e8m0:
      return 8;
    case DType::fp4:
      return 4;
  }
  return 0;
}

std::size_t size_of(DType type) { return bytes_for(type, 1); }

std::size_t bytes_for(DType type, std::int64_t count) {
  const std::size_t bits = static_cast<std::size_t>(count) * bits_of(type);
  if (bits % 8 != 0)
    fail(ErrorKind::internal, "{} elements of {} are no whole number of bytes", count, to_string(type));
  return bits / 8;
}

std::uint16_t bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  // Zero and what is below the normal numbers: a multiple of 2^-24.
  if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(mantissa * 0x1p-24f));
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves multiples of 2^-24 in the low bits of its mantissa, rounded to even.
    const auto shifted = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    return static_cast<std::uint16_t>(sign | (shifted - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float float_from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace wavetune::templates
