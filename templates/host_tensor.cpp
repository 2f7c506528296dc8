#include "templates/host_tensor.h"

#include <cassert>
#include <cmath>

#include "templates/formats.h"

namespace wavetune::templates {

HostTensor::HostTensor(DType dtype, std::int64_t count)
    : dtype_(dtype), count_(count), bytes_(bytes_for(dtype, count)) {}

double HostTensor::at(std::int64_t index) const {
  assert(index >= 0 && index < count_);
  const auto i = static_cast<std::size_t>(index);
  switch (dtype_) {
    case DType::f32:
      return as<float>()[i];
    case DType::bf16:
      return float_from_bf16(as<std::uint16_t>()[i]);
    case DType::i32:
      return as<std::int32_t>()[i];
    case DType::i64:
      return static_cast<double>(as<std::int64_t>()[i]);
    case DType::u8:
      return as<std::uint8_t>()[i];
    case DType::fp8:
      return float_from_fp8(as<std::uint8_t>()[i]);
    case DType::fp4:
      return float_from_fp4(fp4_code(as<std::uint8_t>(), i));
    case DType::e8m0:
      return float_from_e8m0(as<std::uint8_t>()[i]);
    case DType::f16:
      return float_from_f16(as<std::uint16_t>()[i]);
    case DType::f64:
      return as<double>()[i];
    case DType::i8:
      return as<std::int8_t>()[i];
    case DType::i16:
      return as<std::int16_t>()[i];
    case DType::u16:
      return as<std::uint16_t>()[i];
    case DType::u32:
      return as<std::uint32_t>()[i];
    case DType::u64:
      return static_cast<double>(as<std::uint64_t>()[i]);
  }
  return std::nan("");
}

void HostTensor::set(std::int64_t index, double value) {
  assert(index >= 0 && index < count_);
  const auto i = static_cast<std::size_t>(index);
  switch (dtype_) {
    case DType::f32:
      as<float>()[i] = static_cast<float>(value);
      break;
    case DType::bf16:
      as<std::uint16_t>()[i] = bf16_from_float(static_cast<float>(value));
      break;
    case DType::i32:
      as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
      break;
    case DType::i64:
      as<std::int64_t>()[i] = static_cast<std::int64_t>(value);
      break;
    case DType::u8:
      as<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
      break;
    case DType::fp8:
      as<std::uint8_t>()[i] = fp8_from_float(static_cast<float>(value));
      break;
    case DType::fp4:
      set_fp4_code(as<std::uint8_t>(), i, fp4_from_float(static_cast<float>(value)));
      break;
    case DType::e8m0:
      as<std::uint8_t>()[i] = e8m0_from_float(static_cast<float>(value));
      break;
    case DType::f16:
      as<std::uint16_t>()[i] = f16_from_float(static_cast<float>(value));
      break;
    case DType::f64:
      as<double>()[i] = value;
      break;
    case DType::i8:
      as<std::int8_t>()[i] = static_cast<std::int8_t>(value);
      break;
    case DType::i16:
      as<std::int16_t>()[i] = static_cast<std::int16_t>(value);
      break;
    case DType::u16:
      as<std::uint16_t>()[i] = static_cast<std::uint16_t>(value);
      break;
    case DType::u32:
      as<std::uint32_t>()[i] = static_cast<std::uint32_t>(value);
      break;
    case DType::u64:
      as<std::uint64_t>()[i] = static_cast<std::uint64_t>(value);
      break;
  }
}

}  // namespace wavetune::templates
