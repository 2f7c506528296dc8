// Matrix instructions of a warpgroup (four waves, the first at a multiple of four) with operands in LDS on compute
// capability 9.0a, the tensor copies that bring those, and clusters of blocks. cuda_matrix.hip has fences and waits.

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace wt {

// Operands in LDS: rows of 128 bytes of neighbouring k, 8 rows make a unit of 1024 bytes (aligned), and chunk c of 16
// bytes of row r lies at c ^ (r % 8). copy_tensor writes this order (swizzle of 128 bytes).

/// Descriptor of an operand whose first row is at `lds`. 32 bytes of k further: + 2; 64 rows further: + 512.
__device__ inline u64 wgmma_operand(u32 lds) {
  constexpr u64 swizzle_128 = u64{1} << 62, unit = u64{1024 / 16} << 32, unused = u64{1} << 16;
  return swizzle_128 | unit | unused | ((lds >> 4) & 0x3FFFu);
}

/// D += A B (accumulate 0: D = A B): A is 64 rows, B is N rows (columns of D), 32 bytes of k of each. Lane l of wave w
/// of the warpgroup has D at rows 16 w + l / 4 (d[4 j], d[4 j + 1]) and 8 below (d[4 j + 2], d[4 j + 3]), columns 8 j
/// + l % 4 * 2 and the next.
template <int N>
struct wgmma;

#define WT_WGMMA_Q0 "%0, %1, %2, %3"
#define WT_WGMMA_H0 WT_WGMMA_Q0 ", %4, %5, %6, %7"
#define WT_WGMMA_D0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WT_WGMMA_D1 WT_WGMMA_D0 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WT_WGMMA_D2 WT_WGMMA_D1 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WT_WGMMA_D3 WT_WGMMA_D2 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WT_WGMMA_D4 WT_WGMMA_D3 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define WT_WGMMA_D5 WT_WGMMA_D4 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WT_WGMMA_D6 \
  WT_WGMMA_D5 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define WT_WGMMA_D7 \
  WT_WGMMA_D6 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WT_WGMMA_F(d)                                                                                             \
  "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]), "+f"((d)[4]), "+f"((d)[5]), "+f"((d)[6]), "+f"((d)[7]), \
      "+f"((d)[8]), "+f"((d)[9]), "+f"((d)[10]), "+f"((d)[11]), "+f"((d)[12]), "+f"((d)[13]), "+f"((d)[14]),      \
      "+f"((d)[15])
#define WT_WGMMA_F_Q0 "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])
#define WT_WGMMA_F_H0 WT_WGMMA_F_Q0, "+f"((d)[4]), "+f"((d)[5]), "+f"((d)[6]), "+f"((d)[7])
#define WT_WGMMA_F_D0 WT_WGMMA_F(d)
#define WT_WGMMA_F_D1 WT_WGMMA_F_D0, WT_WGMMA_F(d + 16)
#define WT_WGMMA_F_D2 WT_WGMMA_F_D1, WT_WGMMA_F(d + 32)
#define WT_WGMMA_F_D3 WT_WGMMA_F_D2, WT_WGMMA_F(d + 48)
#define WT_WGMMA_F_D4 WT_WGMMA_F_D3, WT_WGMMA_F(d + 64)
#define WT_WGMMA_F_D5 WT_WGMMA_F_D4, WT_WGMMA_F(d + 80)
#define WT_WGMMA_F_D6 WT_WGMMA_F_D5, WT_WGMMA_F(d + 96)
#define WT_WGMMA_F_D7 WT_WGMMA_F_D6, WT_WGMMA_F(d + 112)

// N, its sums' list (a block of 32 columns is one of D's), and the numbers of the operands behind the sums.
#define WT_WGMMA(N, BLOCK, I0, I1, I2, I3, I4, I5)                                                    \
  template <>                                                                                         \
  struct wgmma<N> {                                                                                   \
    static __device__ __forceinline__ void bf16(float* d, u64 a, u64 b, int accumulate) {             \
      WT_WGMMA_LDS(N, BLOCK, "k16.f32.bf16.bf16", ", 0, 0", I0, I1, I2);                              \
    }                                                                                                 \
    static __device__ __forceinline__ void e4m3(float* d, u64 a, u64 b, int accumulate) {             \
      WT_WGMMA_LDS(N, BLOCK, "k32.f32.e4m3.e4m3", "", I0, I1, I2);                                    \
    }                                                                                                 \
    /* A from registers, as mma_bf16 has it. */                                                       \
    static __device__ __forceinline__ void bf16(float* d, const u32 (&a)[4], u64 b, int accumulate) { \
      WT_WGMMA_REGISTERS(N, BLOCK, "k16.f32.bf16.bf16", ", 0", I0, I1, I2, I3, I4, I5);               \
    }                                                                                                 \
    static __device__ __forceinline__ void e4m3(float* d, const u32 (&a)[4], u64 b, int accumulate) { \
      WT_WGMMA_REGISTERS(N, BLOCK, "k32.f32.e4m3.e4m3", "", I0, I1, I2, I3, I4, I5);                  \
    }                                                                                                 \
  };
#define WT_WGMMA_LDS(N, BLOCK, KIND, TAIL, I0, I1, I2)                                                          \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #I2 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #N KIND \
               " {" WT_WGMMA_##BLOCK "}, %" #I0 ", %" #I1 ", p, 1, 1" TAIL ";\n\t}"                            \
               : WT_WGMMA_F_##BLOCK                                                                              \
               : "l"(a), "l"(b), "r"(accumulate))
#define WT_WGMMA_REGISTERS(N, BLOCK, KIND, TAIL, I0, I1, I2, I3, I4, I5)                                             \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #I5 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #N KIND      \
               " {" WT_WGMMA_##BLOCK "}, {%" #I0 ", %" #I1 ", %" #I2 ", %" #I3 "}, %" #I4 ", p, 1, 1" TAIL ";\n\t}" \
               : WT_WGMMA_F_##BLOCK                                                                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))

WT_WGMMA(8, Q0, 4, 5, 6, 7, 8, 9)
WT_WGMMA(16, H0, 8, 9, 10, 11, 12, 13)
WT_WGMMA(32, D0, 16, 17, 18, 19, 20, 21)
WT_WGMMA(64, D1, 32, 33, 34, 35, 36, 37)
WT_WGMMA(96, D2, 48, 49, 50, 51, 52, 53)
WT_WGMMA(128, D3, 64, 65, 66, 67, 68, 69)
WT_WGMMA(160, D4, 80, 81, 82, 83, 84, 85)
WT_WGMMA(192, D5, 96, 97, 98, 99, 100, 101)
WT_WGMMA(224, D6, 112, 113, 114, 115, 116, 117)
WT_WGMMA(256, D7, 128, 129, 130, 131, 132, 133)

// Tensor copies. A tensor map of 128 bytes (aligned to 64, in a __grid_constant__ parameter) describes matrices of rows
// of bytes and the box that one copy moves; parts of the box outside become zeros and count as bytes.

__device__ inline void prefetch_tensor_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}
/// One thread starts it: the box whose first byte is byte `column` of row `row` of matrix `matrix`, to `lds` (aligned
/// to 1024).
__device__ inline void copy_tensor(u32 lds, const void* map, int column, int row, int matrix, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
      :
      : "r"(lds), "l"(map), "r"(column), "r"(row), "r"(matrix), "r"(barrier)
      : "memory");
}
/// To the same place of every block of the cluster whose bit is in `blocks`; each one's barrier gets the bytes.
__device__ inline void copy_tensor_to(u32 lds, const void* map, int column, int row, int matrix, u32 barrier,
                                      u32 blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3, %4}], [%5], %6;"
      :
      : "r"(lds), "l"(map), "r"(column), "r"(row), "r"(matrix), "r"(barrier), "h"(static_cast<unsigned short>(blocks))
      : "memory");
}

// Words of LDS and of registers.

__device__ inline u32 load_lds_word(u32 address) {
  u32 word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
/// An 8 x 8 matrix of 16-bit elements, two of row lane / 4 in each lane's word, transposed.
__device__ inline u32 transpose_8x8(u32 word) {
  u32 result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
  return result;
}

// Clusters (__cluster_dims__ at the kernel).

__device__ inline u32 block_in_cluster() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of all blocks of the cluster.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" : : : "memory");
}
/// Its halves, for waves that have something to do between them, and for barriers made with fence_barrier_init: other
/// writes before the arrival are not waited for. Only in clusters: where there are none the compiler makes a barrier of
/// the block of the wait, and nothing of the arrival.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }
/// An arrival at the barrier that lies at the same address in another block of the cluster.
__device__ inline void barrier_arrive_at(u32 barrier, u32 block) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
      :
      : "r"(barrier), "r"(block)
      : "memory");
}
/// 16 bytes at the same LDS address in another block of the cluster.
__device__ inline chunk load_lds_of(u32 address, u32 block) {
  chunk c;
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %4, %5;\n\t"
      "ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [there];\n\t}"
      : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3])
      : "r"(address), "r"(block)
      : "memory");
  return c;
}

/// A float to the same LDS address in another block of the cluster (or in this one).
__device__ inline void store_to_block(u32 address, u32 block, float value) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
      "st.shared::cluster.f32 [there], %2;\n\t}"
      :
      : "r"(address), "r"(block), "f"(value)
      : "memory");
}
/// Arrives at a barrier of another block of the cluster; what this wave stored there before (and __syncwarp) is seen by
/// those who wait with barrier_wait_cluster.
__device__ inline void barrier_release_at(u32 barrier, u32 block) {
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}"
      :
      : "r"(barrier), "r"(block)
      : "memory");
}
__device__ inline void barrier_wait_cluster(u32 barrier, u32 parity) {
  u32 ended;
  do {
    asm volatile(
        "{\n\t.reg .pred ended;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, ended;\n\t}"
        : "=r"(ended)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (ended == 0);
}

}  // namespace wt

#endif
