// Instructions of NVIDIA's that only the stream path takes.
namespace stream {

__device__ inline u32 load_lds_word(wt::u32 at) {
  u32 w;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(w) : "r"(at) : "memory");
  return w;
}
__device__ inline void load_lds_pair(u32 at, u32& first, u32& second) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(at) : "memory");
}
__device__ inline void store_lds_word(u32 at, u32 w) {
  asm volatile("st.shared.b32 [%0], %1;" : : "r"(at), "r"(w) : "memory");
}

/// D += A B on 16 x 8 x 16 of half; register layouts as those of mma_bf16.
__device__ inline void mma_half(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <bool Bf16>
__device__ inline void multiply(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (Bf16) {
    wt::mma_bf16(d, a, b);
  } else {
    mma_half(d, a, b);
  }
}

/// Bytes 0 and 1 (HALF 0) or 2 and 3 of `w`, e4m3, as two halves: exact. (Hopper has no mma.sync on fp8: ptxas makes
/// these conversions of it, once for every use.)
template <int HALF>
__device__ inline u32 halves_of_fp8(u32 w) {
  u32 h;
  const unsigned short part = static_cast<unsigned short>(HALF == 0 ? w : w >> 16);
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(part));
  return h;
}

/// Between the blocks of a cluster: what they wrote to LDS before is seen by all after it.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;" : : : "memory");
  asm volatile("barrier.cluster.wait.acquire;" : : : "memory");
}
/// The float at LDS address `at` of the cluster's block `rank`.
__device__ inline float load_cluster(u32 at, u32 rank) {
  u32 remote;
  float value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(at), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(remote) : "memory");
  return value;
}

}  // namespace stream
