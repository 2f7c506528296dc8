// The wave-collective matrix tile on AMD CDNA3 and CDNA4: one MFMA instruction.

namespace wt_amd {

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

/// Register layout that all 16x16 MFMAs with four blocks of k share.
template <class T, int K>
struct Layout16 {
  static constexpr int m = 16, n = 16, k = K;
  static constexpr int fragment = K / 4;  ///< elements of A (and of B) in one lane
  struct ab {
    T v[fragment];
    __device__ T& operator[](int i) { return v[i]; }
    __device__ const T& operator[](int i) const { return v[i]; }
  };
  using acc = wt::vec<4>;

  static __device__ int row_a(int lane) { return lane % 16; }
  static __device__ int col_b(int lane) { return lane % 16; }
  static __device__ int k_ab(int lane) { return lane / 16 * fragment; }
  static __device__ int row_c(int lane) { return lane / 16 * 4; }
  static __device__ int col_c(int lane) { return lane % 16; }
};

}  // namespace wt_amd

namespace wt {

/// D = A * B^T + C on a 16x16 tile, collective over the wave. A lane holds A[row_a][k_ab .. + k/4), B[col_b][k_ab .. +
/// k/4) and C/D[row_c + i][col_c] in acc[i].
template <class T>
struct mma16;

template <>
struct mma16<bf16> : wt_amd::Layout16<bf16, 16> {
  static __device__ inline acc run(const ab& a, const ab& b, const acc& c) {
    return __builtin_bit_cast(acc, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
                                       __builtin_bit_cast(wt_amd::s16x4, a), __builtin_bit_cast(wt_amd::s16x4, b),
                                       __builtin_bit_cast(wt_amd::f32x4, c), 0, 0, 0));
  }
};

template <>
struct mma16<float> : wt_amd::Layout16<float, 4> {
  static __device__ inline acc run(const ab& a, const ab& b, const acc& c) {
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_f32_16x16x4f32(a.v[0], b.v[0], __builtin_bit_cast(wt_amd::f32x4, c), 0, 0, 0));
  }
};

}  // namespace wt

// Matrix products on whole 16-byte chunks. An instruction multiplies Tile rows of A with Tile rows of B; with r = lane
// % Tile and g = lane / Tile a lane holds of row r
//   bf16: k = g * 8 .. + 8
//   fp4:  k = g * 32 .. + 32
//   fp8:  k = g * 16 .. + 16 in the first chunk and K/2 + g * 16 .. + 16 in the second
// and of D column lane % Tile: rows g * 4 + i (16 x 16) or 8 * (i / 4) + g * 4 + i % 4 (32 x 32). A scale is the e8m0
// code of row r and of elements g * 32 .. + 32 of k. (CDNA4 instruction set, section on matrix instructions;
// composable_kernel's tests of the MX instructions write the fp8 layout out.)

namespace wt_amd {

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef int i32x8 __attribute__((ext_vector_type(8)));

struct Halves {
  s16x4 low, high;
};

template <int Format>
__device__ inline i32x8 operand(const wt::chunk (&c)[2]) {
  if constexpr (Format == 4) {
    return i32x8{(int)c[0].w[0], (int)c[0].w[1], (int)c[0].w[2], (int)c[0].w[3], 0, 0, 0, 0};
  } else {
    return i32x8{(int)c[0].w[0], (int)c[0].w[1], (int)c[0].w[2], (int)c[0].w[3],
                 (int)c[1].w[0], (int)c[1].w[1], (int)c[1].w[2], (int)c[1].w[3]};
  }
}

}  // namespace wt_amd

namespace wt {

/// Codes of the 8 and 4 bit formats, as the instructions have them.
constexpr int fp8 = 0, fp4 = 4;

template <int Tile>
struct mma;

template <>
struct mma<16> {
  using acc = vec<4>;
  static __device__ inline acc bf16(const chunk& a, const chunk& b, const acc& c) {
    const auto sum = __builtin_bit_cast(wt_amd::f32x4, c);
#if defined(__gfx950__)
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(wt_amd::bf16x8, a),
                                                     __builtin_bit_cast(wt_amd::bf16x8, b), sum, 0, 0, 0));
#else
    const auto x = __builtin_bit_cast(wt_amd::Halves, a), y = __builtin_bit_cast(wt_amd::Halves, b);
    const auto half = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.low, y.low, sum, 0, 0, 0);
    return __builtin_bit_cast(acc, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.high, y.high, half, 0, 0, 0));
#endif
  }
#if defined(__gfx950__)
  /// Takes byte SelA of scale_a and byte SelB of scale_b.
  template <int FormatA, int FormatB, int SelA, int SelB>
  static __device__ inline acc scaled(const chunk (&a)[2], const chunk (&b)[2], const acc& c, u32 scale_a,
                                      u32 scale_b) {
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(wt_amd::operand<FormatA>(a), wt_amd::operand<FormatB>(b),
                                                              __builtin_bit_cast(wt_amd::f32x4, c), FormatA, FormatB,
                                                              SelA, (int)scale_a, SelB, (int)scale_b));
  }
#else
  template <int FormatA, int FormatB, int SelA, int SelB>
  static __device__ acc scaled(const chunk (&a)[2], const chunk (&b)[2], const acc& c, u32 scale_a, u32 scale_b);
#endif
};

template <>
struct mma<32> {
  using acc = vec<16>;
  static __device__ inline acc bf16(const chunk& a, const chunk& b, const acc& c) {
    const auto sum = __builtin_bit_cast(wt_amd::f32x16, c);
#if defined(__gfx950__)
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(wt_amd::bf16x8, a),
                                                     __builtin_bit_cast(wt_amd::bf16x8, b), sum, 0, 0, 0));
#else
    const auto x = __builtin_bit_cast(wt_amd::Halves, a), y = __builtin_bit_cast(wt_amd::Halves, b);
    const auto half = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.low, y.low, sum, 0, 0, 0);
    return __builtin_bit_cast(acc, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.high, y.high, half, 0, 0, 0));
#endif
  }
#if defined(__gfx950__)
  template <int FormatA, int FormatB, int SelA, int SelB>
  static __device__ inline acc scaled(const chunk (&a)[2], const chunk (&b)[2], const acc& c, u32 scale_a,
                                      u32 scale_b) {
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(wt_amd::operand<FormatA>(a), wt_amd::operand<FormatB>(b),
                                                             __builtin_bit_cast(wt_amd::f32x16, c), FormatA, FormatB,
                                                             SelA, (int)scale_a, SelB, (int)scale_b));
  }
#else
  template <int FormatA, int FormatB, int SelA, int SelB>
  static __device__ acc scaled(const chunk (&a)[2], const chunk (&b)[2], const acc& c, u32 scale_a, u32 scale_b);
#endif
};

}  // namespace wt
