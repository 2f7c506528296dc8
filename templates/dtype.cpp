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
  }
  return "?";
}

std::optional<DType> dtype_from_string(std::string_view word) {
  for (DType type :
       {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8, DType::fp8, DType::fp4, DType::e8m0}) {
    if (to_string(type) == word) return type;
  }
  return std::nullopt;
}

std::size_t bits_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32:
      return 32;
    case DType::bf16:
    case DType::f16:
      return 16;
    case DType::i64:
      return 64;
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

float float_from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace wavetune::templates
