// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wavetune::templates {

enum class DType : std::uint8_t { f32, bf16, f16, i32, i64, u8 };

std::string_view to_string(DType type);
std::optional<DType> dtype_from_string(std::string_view word);
std::size_t size_of(DType type);

/// Round to nearest even, as the hardware conversions do; NaN stays NaN.
std::uint16_t bf16_from_float(float value);
float float_from_bf16(std::uint16_t bits);

}  // namespace wavetune::templates
