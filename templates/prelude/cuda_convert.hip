// Conversions between number formats, with the names and results of amd_convert.hip. Compute capability 8.9 and newer
// has instructions for fp8; fp4 is computed.

namespace wt {

__device__ inline float float_from_fp8(u32 code) {
#if __CUDA_ARCH__ >= 890
  float value;
  asm("{\n\t"
      ".reg .b32 halves;\n\t"
      ".reg .b16 low, high;\n\t"
      "cvt.rn.f16x2.e4m3x2 halves, %1;\n\t"
      "mov.b32 {low, high}, halves;\n\t"
      "cvt.f32.f16 %0, low;\n\t"
      "}"
      : "=f"(value)
      : "h"(static_cast<unsigned short>(code & 0xFFu)));
  return value;
#else
  return soft::float_from_fp8(code);
#endif
}

/// Codes of four numbers, the first in the lowest byte. Rounds to nearest even; magnitudes above 448 become 448.
__device__ inline u32 fp8_pack(const vec<4>& values) {
#if __CUDA_ARCH__ >= 890
  u32 codes;
  asm("{\n\t"
      ".reg .b16 low, high;\n\t"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n\t"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n\t"
      "mov.b32 %0, {low, high};\n\t"
      "}"
      : "=r"(codes)
      : "f"(values.v[0]), "f"(values.v[1]), "f"(values.v[2]), "f"(values.v[3]));
  // The instruction drops the sign of a NaN; of all other numbers the code has it already.
  const auto bits = [&](int i) { return __builtin_bit_cast(u32, values.v[i]); };
  const u32 tops = __byte_perm(__byte_perm(bits(0), bits(1), 0x0073), __byte_perm(bits(2), bits(3), 0x0073), 0x5410);
  return codes | (tops & 0x80808080u);
#else
  u32 word = 0;
  WT_UNROLL
  for (int i = 0; i < 4; ++i) word |= soft::fp8_from_float(values.v[i]) << (8 * i);
  return word;
#endif
}
__device__ inline u32 fp8_from_float(float value) { return fp8_pack({{value, 0.0f, 0.0f, 0.0f}}) & 0xFFu; }

/// Codes of eight numbers, the first in the lowest nibble. Rounds to nearest even; magnitudes above 6 become 6.
__device__ inline u32 fp4_pack(const vec<8>& values) {
  u32 word = 0;
  WT_UNROLL
  for (int i = 0; i < 8; ++i) word |= soft::fp4_from_float(values.v[i]) << (4 * i);
  return word;
}
__device__ inline u32 fp4_pair(float even, float odd) {
  return soft::fp4_from_float(even) | soft::fp4_from_float(odd) << 4;
}

/// Two bf16, each the product of those of `a` and `b` in its half.
__device__ inline u32 mul_bf16x2(u32 a, u32 b) {
  u32 product;
  // A sum with -0 keeps the product's sign, and fma.bf16x2 is there before mul.bf16x2.
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(a), "r"(b), "r"(0x80008000u));
  return product;
}

/// 8 fp4, the first in the lowest nibble, times `scale` (a power of two or NaN) to 8 bf16.
__device__ inline chunk cvt_fp4_bf16(u32 eight_nibbles, float scale) {
  constexpr u32 bias = 0x7E807E80u;  // 2^126 twice: e2m1's exponent in bf16's place is that much too small
  const u32 half = __builtin_bit_cast(u32, scale) >> 16;
  const u32 factor = half | half << 16;
  chunk result;
  WT_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u32 even = eight_nibbles >> (8 * i), odd = eight_nibbles >> (8 * i + 4);
    const u32 magnitudes = (even & 7u) << 6 | (odd & 7u) << 22;
    const u32 signs = (even & 8u) << 12 | (odd & 8u) << 28;
    result.w[i] = mul_bf16x2(mul_bf16x2(magnitudes | signs, bias), factor);
  }
  return result;
}

/// In rows of 16 lanes: row 1 of a changes places with row 0 of b.
__device__ inline void permlane16_swap(u32& a, u32& b) {
  const bool even = lane() / 16 == 0;
  const u32 other = static_cast<u32>(shfl_xor(static_cast<int>(even ? b : a), 16));
  if (even) {
    b = other;
  } else {
    a = other;
  }
}

}  // namespace wt
