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

/// D = A * B^T + C on a 16x16 tile, collective over the wave. A lane holds A[row_a][k_ab .. + k/4), B[col_b][k_ab .. + k/4)
/// and C/D[row_c + i][col_c] in acc[i].
template <class T>
struct mma16;

template <>
struct mma16<bf16> : wt_amd::Layout16<bf16, 16> {
  static __device__ inline acc run(const ab& a, const ab& b, const acc& c) {
    return __builtin_bit_cast(
        acc, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(wt_amd::s16x4, a), __builtin_bit_cast(wt_amd::s16x4, b),
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
