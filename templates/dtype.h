// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wavetune::templates {

/// fp8 is OCP's e4m3fn, fp4 OCP's e2m1 (two elements a byte, the even one in the low nibble), e8m0 the scale format of
/// MX blocks; templates/formats.h converts. Counts, shapes and strides of fp4 tensors are in elements, as for every
/// type, and rows hold an even number of them.
/// From f64 on: types that only kernels from outside have (templates/t1).
enum class DType : std::uint8_t {
  f32,
  bf16,
  f16,
  i32,
  i64,
  u8,
  fp8,
  fp4,
  e8m0,
  f64,
  i8,
  i16,
  u16,
  u32,
  u64,
};

std::string_view to_string(DType type);
std::optional<DType> dtype_from_string(std::string_view word);
/// True for the i and u types.
bool is_integer(DType type);
/// Width of an element in memory.
std::size_t bits_of(DType type);
/// Bytes of an element. Throws Error internal for fp4, whose elements are half a byte: use bytes_for.
std::size_t size_of(DType type);
/// Bytes of `count` elements that follow each other. Throws Error internal when that is no whole number of bytes.
std::size_t bytes_for(DType type, std::int64_t count);

/// Round to nearest even, as the hardware conversions do; NaN stays NaN.
std::uint16_t bf16_from_float(float value);
float float_from_bf16(std::uint16_t bits);
/// IEEE's binary16; overflow gives infinity.
std::uint16_t f16_from_float(float value);
float float_from_f16(std::uint16_t bits);

}  // namespace wavetune::templates
