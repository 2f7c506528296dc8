// The narrow number formats in plain arithmetic, for targets without instructions for them: OCP's e4m3fn, e2m1 and e8m0, to the
// bit as in templates/formats.h. No branches and no tables, so that loops over them vectorise on a CPU.

namespace wt {

namespace soft {

/// e4m3fn, rounded to nearest even; magnitudes above 448 become 448, NaN becomes 0x7F.
__device__ inline u32 fp8_from_float(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 all = bits & 0x7FFFFFFFu;
  const u32 magnitude = all > 0x43E00000u ? 0x43E00000u : all;
  const u32 normal = ((magnitude + 0x7FFFFu + ((magnitude >> 20) & 1u)) >> 20) - (120u << 3);
  // Below 2^-6 steps are 2^-9, which is the last place of 2^14: the addition rounds.
  const u32 subnormal = __builtin_bit_cast(u32, __builtin_bit_cast(float, magnitude) + 16384.0f) - 0x46800000u;
  u32 code = magnitude < 0x3C800000u ? subnormal : normal;
  code = all > 0x7F800000u ? 0x7Fu : code;
  return code | ((bits >> 24) & 0x80u);
}
__device__ inline float float_from_fp8(u32 code) {
  // The exponent field moves to that of a float; the factor makes up for the different bias, and makes subnormals right as well.
  const float magnitude = __builtin_bit_cast(float, (code & 0x7Fu) << 20) * 0x1p120f;
  const u32 bits = (code & 0x7Fu) == 0x7Fu ? 0x7FC00000u : __builtin_bit_cast(u32, magnitude);
  return __builtin_bit_cast(float, bits | ((code & 0x80u) << 24));
}

/// e2m1, rounded to nearest even; magnitudes above 6 and NaN become 6.
__device__ inline u32 fp4_from_float(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 all = bits & 0x7FFFFFFFu;
  const u32 magnitude = all > 0x40C00000u ? 0x40C00000u : all;
  const u32 normal = ((magnitude + 0x1FFFFFu + ((magnitude >> 22) & 1u)) >> 22) - (126u << 1);
  // Below 1 steps are a half, the last place of 2^22.
  const u32 subnormal = __builtin_bit_cast(u32, __builtin_bit_cast(float, magnitude) + 4194304.0f) - 0x4A800000u;
  return (magnitude < 0x3F800000u ? subnormal : normal) | ((bits >> 28) & 8u);
}
/// The low four bits count.
__device__ inline float float_from_fp4(u32 code) {
  const float magnitude = __builtin_bit_cast(float, (code & 7u) << 22) * 0x1p126f;
  return __builtin_bit_cast(float, __builtin_bit_cast(u32, magnitude) | ((code & 8u) << 28));
}

}  // namespace soft

/// 2^(code - 127); 0xFF is NaN.
__device__ inline float float_from_e8m0(u32 code) {
  const u32 bits = code == 0u ? 0x00400000u : code == 0xFFu ? 0x7FC00000u : code << 23;
  return __builtin_bit_cast(float, bits);
}

/// e8m0 scale of an MX block of e2m1 whose largest magnitude is `amax`: AMD Quark's mode "even" (templates/formats.h,
/// mx_scale_even, says how it rounds).
__device__ inline u32 mx_scale_even(float amax) {
  const u32 bits = __builtin_bit_cast(u32, amax);
  const u32 exponent = (bits + 0x200000u) >> 23;
  const u32 scale = exponent >= 255u ? 254u : exponent < 2u ? 0u : exponent - 2u;
  return bits > 0x7F800000u ? 0xFFu : scale;
}
/// What the elements of a block with scale code `code` are multiplied by before conversion: 2^(127 - code), exact.
__device__ inline float mx_inverse_scale(u32 code) {
  return __builtin_bit_cast(float, code >= 254u ? (code == 254u ? 0x00400000u : 0x7FC00000u) : (254u - code) << 23);
}

/// 8 bytes of one lane: 4 bf16.
struct alignas(8) half_chunk {
  u32 w[2];
};

}  // namespace wt
