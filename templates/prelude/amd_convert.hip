// Conversions between number formats, and exchanges between lanes. gfx950 has instructions for OCP's formats; the fp8 of gfx942 has
// another bias, so there they are computed.

namespace wt_amd {

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef short s16x4_lds __attribute__((ext_vector_type(4)));

}  // namespace wt_amd

namespace wt {

__device__ inline float float_from_fp8(u32 code) {
#if defined(__gfx950__)
  return __builtin_amdgcn_cvt_f32_fp8(static_cast<int>(code), 0);
#else
  return soft::float_from_fp8(code);
#endif
}

/// Codes of four numbers, the first in the lowest byte. Rounds to nearest even; magnitudes above 448 become 448.
__device__ inline u32 fp8_pack(const vec<4>& values) {
#if defined(__gfx950__)
  float clamped[4];
  WT_UNROLL
  for (int i = 0; i < 4; ++i) {
    // The instruction makes NaN of what is too large.
    const float value = __builtin_amdgcn_fmed3f(values.v[i], 448.0f, -448.0f);
    clamped[i] = values.v[i] != values.v[i] ? values.v[i] : value;
  }
  const int low = __builtin_amdgcn_cvt_pk_fp8_f32(clamped[0], clamped[1], 0, false);
  return static_cast<u32>(__builtin_amdgcn_cvt_pk_fp8_f32(clamped[2], clamped[3], low, true));
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
  const auto& v = values.v;
#if defined(__gfx950__)
  u32 word = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0u, v[0], v[1], 1.0f, 0);
  word = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(word, v[2], v[3], 1.0f, 1);
  word = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(word, v[4], v[5], 1.0f, 2);
  return __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(word, v[6], v[7], 1.0f, 3);
#else
  u32 word = 0;
  WT_UNROLL
  for (int i = 0; i < 8; ++i) word |= soft::fp4_from_float(v[i]) << (4 * i);
  return word;
#endif
}
__device__ inline u32 fp4_pair(float even, float odd) {
#if defined(__gfx950__)
  return __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0u, even, odd, 1.0f, 0) & 0xFFu;
#else
  return soft::fp4_from_float(even) | soft::fp4_from_float(odd) << 4;
#endif
}

/// 8 fp4, the first in the lowest nibble, times `scale` (a power of two or NaN) to 8 bf16.
__device__ inline chunk cvt_fp4_bf16(u32 eight_nibbles, float scale) {
  chunk result;
#if defined(__gfx950__)
  result.w[0] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(eight_nibbles, scale, 0));
  result.w[1] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(eight_nibbles, scale, 1));
  result.w[2] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(eight_nibbles, scale, 2));
  result.w[3] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_bf16_fp4(eight_nibbles, scale, 3));
#else
  WT_UNROLL
  for (int i = 0; i < 4; ++i) {
    // Two significant bits times a power of two: the upper halves of the floats are the bf16.
    const float even = soft::float_from_fp4(eight_nibbles >> (8 * i)) * scale;
    const float odd = soft::float_from_fp4(eight_nibbles >> (8 * i + 4)) * scale;
    result.w[i] = (__builtin_bit_cast(u32, even) >> 16) | (__builtin_bit_cast(u32, odd) & 0xFFFF0000u);
  }
#endif
  return result;
}

/// Lanes 32 to 63 of a change places with lanes 0 to 31 of b.
__device__ inline void permlane32_swap(u32& a, u32& b) {
#if defined(__gfx950__)
  const auto swapped = __builtin_amdgcn_permlane32_swap(a, b, false, false);
  a = swapped[0];
  b = swapped[1];
#else
  const u32 other_a = static_cast<u32>(shfl_xor(static_cast<int>(a), 32)), other_b = static_cast<u32>(shfl_xor(static_cast<int>(b), 32));
  const bool low = lane() < 32;
  a = low ? a : other_b;
  b = low ? other_a : b;
#endif
}
/// In rows of 16 lanes: rows 1 and 3 of a change places with rows 0 and 2 of b.
__device__ inline void permlane16_swap(u32& a, u32& b) {
#if defined(__gfx950__)
  const auto swapped = __builtin_amdgcn_permlane16_swap(a, b, false, false);
  a = swapped[0];
  b = swapped[1];
#else
  const u32 other_a = static_cast<u32>(shfl_xor(static_cast<int>(a), 16)), other_b = static_cast<u32>(shfl_xor(static_cast<int>(b), 16));
  const bool even = lane() / 16 % 2 == 0;
  a = even ? a : other_b;
  b = even ? other_a : b;
#endif
}

#if defined(__gfx950__)
/// Every 16 lanes read a matrix of 4 rows and 16 columns of 16-bit elements, lane i 4 neighbouring elements of row i / 4 from its
/// address on (8-byte aligned, in LDS): columns i % 4 * 4 .. + 4. Lane i gets column i.
__device__ inline half_chunk lds_read_transposed16(const void* lds) {
  using Lds = __attribute__((address_space(3))) wt_amd::s16x4_lds*;
  return __builtin_bit_cast(half_chunk, __builtin_amdgcn_ds_read_tr16_b64_v4i16((Lds)(const_cast<void*>(lds))));
}
#endif

}  // namespace wt
