// Matrix instructions of a wave on NVIDIA, and what brings their operands from LDS. Register layouts as in the PTX
// manual; with g = lane / 4 and t = lane % 4:
//   D (and C) 16 x 8 floats: d[0], d[1] at row g, columns 2t, 2t + 1; d[2], d[3] at row g + 8.
//   A 16 x k: a[0] row g, a[1] row g + 8 of the lower half of k; a[2], a[3] the same of the upper half.
//   B k x 8 (rows of W are its columns): b[0] column g of the lower half of k, b[1] of the upper.
// A register is 4 bytes of neighbouring k, the t-th of the 16 bytes of its row's half.

namespace wt {

/// Codes of the 8 and 4 bit formats, as AMD's instructions have them.
constexpr int fp8 = 0, fp4 = 4;

/// The tile of AMD's 16 x 16 instructions lies in 64 lanes. It is declared here so that kernels which also have another
/// path compile; spaces leave the paths with it out where waves have 32 lanes.
template <class T>
struct mma16 {
  static constexpr int m = 16, n = 16, k = sizeof(T) == 2 ? 16 : 4, fragment = k / 4;
  struct ab {
    T v[fragment];
    __device__ T& operator[](int i) { return v[i]; }
    __device__ const T& operator[](int i) const { return v[i]; }
  };
  using acc = vec<4>;
  static __device__ int row_a(int lane);
  static __device__ int col_b(int lane);
  static __device__ int k_ab(int lane);
  static __device__ int row_c(int lane);
  static __device__ int col_c(int lane);
  static __device__ acc run(const ab& a, const ab& b, const acc& c);
};

/// D += A B on 16 x 8 x 16 of bf16 (two in a register, the lower k in the lower half).
__device__ inline void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#if __CUDA_ARCH__ >= 890
/// D += A B on 16 x 8 x 32 of e4m3 (four in a register). Hopper sums its products in about 14 bits behind the point of
/// the largest of them: long sums need float accumulators outside (templates/gemm says where).
__device__ inline void mma_e4m3(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

/// Four 8 x 8 matrices of 16-bit elements from LDS: lanes 8 i .. 8 i + 7 give the addresses (lds_address, 16-byte
/// aligned) of the rows of matrix i, which lands in r[i], row g, elements 2t and 2t + 1. For A of an mma: matrix 0 is
/// the upper left, 1 the lower left, 2 the upper right, 3 the lower right.
__device__ inline void ldmatrix_x4(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
/// The same, each matrix transposed: r[i] gets rows 2t and 2t + 1 of column g.
__device__ inline void ldmatrix_x4_trans(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// Two floats to two bf16 in one register, `low` in its lower half, rounded to nearest even.
__device__ inline u32 pack_bf16(float low, float high) {
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Matrix instructions of a warpgroup (four neighbouring waves) that run on their own: registers of the sums and of A
// may be touched only between wgmma_wait and the next wgmma_fence.

/// Before the first instruction, and whenever registers that one reads have been written.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
/// Closes a group of instructions.
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
/// Waits until at most N of the newest groups are running.
template <int N>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
}
/// Keeps the compiler from moving accesses to a sum's register across this place.
__device__ inline void wgmma_hold(float& sum) { asm volatile("" : "+f"(sum) : : "memory"); }
#endif

}  // namespace wt
