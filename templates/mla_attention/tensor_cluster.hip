// Path 3 with the parts of a query's list in the blocks of one cluster: they leave their sums in their own LDS and each
// puts together its share of the columns, reading the others'. No workspace, no second kernel.
namespace mla {

constexpr int cluster = cfg::cluster;
constexpr int sums_row = latent + 4;  // floats; the pad spreads rows over banks
static_assert(latent % (4 * cluster) == 0 && heads * (sums_row + 2) * 4 <= at_probabilities);

/// This block's number in its cluster.
__device__ inline int cluster_rank() {
  wt::u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}
/// All threads of the cluster meet; LDS writes before it are seen by reads behind it.
__device__ inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n\t"
      "barrier.cluster.wait.acquire.aligned;"
      :
      :
      : "memory");
}
/// 16 bytes of another block's LDS; `address` as in this block's.
__device__ inline wt::vec<4> load_from_block(int rank, wt::u32 address) {
  wt::vec<4> v;
  asm volatile(
      "{\n\t"
      ".reg .b32 remote;\n\t"
      "mapa.shared::cluster.u32 remote, %4, %5;\n\t"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n\t"
      "}"
      : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
      : "r"(address), "r"(rank)
      : "memory");
  return v;
}

// The ring of tiles is free by now. A row of sums ends with the maximum and the total.
__device__ inline void add_cluster(const Block& block, const float (&out)[own_tiles][4], const float (&maximum)[2],
                                   const float (&total)[2]) {
  const Params& p = block.p;
  const int first = block.wave * own_cols + block.quad * 2;
  WT_UNROLL
  for (int h = 0; h < 2; ++h) {
    float* const to = reinterpret_cast<float*>(block.memory) + (block.row + h * 8) * sums_row;
    WT_UNROLL
    for (int c = 0; c < own_tiles; ++c) wt::store<2>(to + first + c * 8, wt::vec<2>{out[c][h * 2], out[c][h * 2 + 1]});
    if (first == 0) wt::store<2>(to + latent, wt::vec<2>{maximum[h], total[h]});
  }
  cluster_sync();
  constexpr int share = latent / cluster, units = heads * share / 4;
  const int begin = cluster_rank() * share;
  for (int unit = block.t; unit < units; unit += cfg::threads) {
    const int h = unit / (share / 4), col = begin + unit % (share / 4) * 4;
    const wt::u32 at = block.lds + h * sums_row * 4;
    wt::vec<4> numbers[cluster], sums[cluster];
    float top = no_maximum, all = 0.0f;
    WT_UNROLL
    for (int rank = 0; rank < cluster; ++rank) {
      numbers[rank] = load_from_block(rank, at + latent * 4);
      sums[rank] = load_from_block(rank, at + col * 4);
    }
    WT_UNROLL
    for (int rank = 0; rank < cluster; ++rank) top = wt::max(top, numbers[rank][0]);
    wt::vec<4> sum{};
    WT_UNROLL
    for (int rank = 0; rank < cluster; ++rank) {
      const float factor = ::exp2f(numbers[rank][0] - top);
      all += numbers[rank][1] * factor;
      sum = wt::fma(factor, sums[rank], sum);
    }
    if (block.work.head0 + h >= p.heads) continue;
    const float factor = all > 0.0f ? 1.0f / all : 0.0f;
    T* const to = p.out + block.work.token * p.out_row + (block.work.head0 + h) * latent + col;
    store_pair(p, to, sum[0] * factor, sum[1] * factor);
    store_pair(p, to + 2, sum[2] * factor, sum[3] * factor);
  }
  cluster_sync();  // LDS stays until the others have read it
}

}  // namespace mla

extern "C" __global__ __launch_bounds__(cfg::threads) __cluster_dims__(1, cfg::cluster, 1) void mla_attention_main(
    mla::Params p) {
  extern __shared__ __align__(128) char memory[];
  mla::Block(p, memory).run(mla::add_cluster);
}
