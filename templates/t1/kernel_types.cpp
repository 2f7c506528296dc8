#include "templates/t1/kernel_types.h"

#include <algorithm>
#include <array>

namespace wavetune::templates {
namespace {

struct Named {
  std::string_view name;
  DType dtype;
};

// long has 64 bits on every device that HIP knows, and on the CPUs that wavetune runs on.
constexpr std::array names = {
    Named{"float", DType::f32},
    Named{"float32", DType::f32},
    Named{"single", DType::f32},
    Named{"double", DType::f64},
    Named{"float64", DType::f64},
    Named{"half", DType::f16},
    Named{"__half", DType::f16},
    Named{"_Float16", DType::f16},
    Named{"float16", DType::f16},
    Named{"bfloat16", DType::bf16},
    Named{"__hip_bfloat16", DType::bf16},
    Named{"hip_bfloat16", DType::bf16},
    Named{"__nv_bfloat16", DType::bf16},
    Named{"bool", DType::u8},
    Named{"char", DType::i8},
    Named{"signed char", DType::i8},
    Named{"int8", DType::i8},
    Named{"int8_t", DType::i8},
    Named{"unsigned char", DType::u8},
    Named{"uchar", DType::u8},
    Named{"uint8", DType::u8},
    Named{"uint8_t", DType::u8},
    Named{"short", DType::i16},
    Named{"int16", DType::i16},
    Named{"int16_t", DType::i16},
    Named{"unsigned short", DType::u16},
    Named{"ushort", DType::u16},
    Named{"uint16", DType::u16},
    Named{"uint16_t", DType::u16},
    Named{"int", DType::i32},
    Named{"int32", DType::i32},
    Named{"int32_t", DType::i32},
    Named{"unsigned int", DType::u32},
    Named{"unsigned", DType::u32},
    Named{"uint", DType::u32},
    Named{"uint32", DType::u32},
    Named{"uint32_t", DType::u32},
    Named{"long", DType::i64},
    Named{"long long", DType::i64},
    Named{"int64", DType::i64},
    Named{"int64_t", DType::i64},
    Named{"ptrdiff_t", DType::i64},
    Named{"unsigned long", DType::u64},
    Named{"unsigned long long", DType::u64},
    Named{"uint64", DType::u64},
    Named{"uint64_t", DType::u64},
    Named{"size_t", DType::u64},
};

// The scalars that HIP has vectors of.
constexpr std::array vectors = {"float", "double", "char", "uchar", "short", "ushort", "int", "uint"};

}  // namespace

std::optional<KernelType> kernel_type(std::string_view word) {
  std::string_view name = word;
  if (name.starts_with("std::")) name.remove_prefix(5);
  for (const Named& known : names) {
    if (known.name == name) return KernelType{std::string(word), known.dtype, 1};
  }
  if (name.empty() || name.back() < '1' || name.back() > '4') return std::nullopt;
  const std::string_view scalar = name.substr(0, name.size() - 1);
  if (std::find(vectors.begin(), vectors.end(), scalar) == vectors.end()) return std::nullopt;
  return KernelType{std::string(word), kernel_type(scalar)->dtype, name.back() - '0'};
}

std::string_view known_kernel_types() {
  return "float, double, half, bfloat16, bool, int8 to int64, uint8 to uint64, C's names for them, and float4 and the "
         "like";
}

}  // namespace wavetune::templates
