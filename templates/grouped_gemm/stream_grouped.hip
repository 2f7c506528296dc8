// grouped_gemm on the stream path (templates/gemm/stream_shape.hip): rows of X are gathered by pair, rows of W are the
// expert's. Every expert's W is read once for each bm of its rows.
//
// cfg: swiglu, topk, slots_first, beside those of the path.
struct Params {
  const char* x;
  const char* w;
  const char* scale_x;
  const char* scale_w;
  const int* order;
  const int* offsets;
  stream::Out* out;
  wt::i64 x_stride, w_stride;  // bytes of a row (W shuffled: of 16 rows)
  wt::i64 w_expert, scale_w_expert;
  wt::i64 scale_x_stride, scale_w_stride;  // bytes from group to group; from 32 rows (mx) or 128 (groups) to the next
  wt::i64 out_stride;                      // elements
  int experts, n;
  int x_chunks, w_chunks;  // 16-byte chunks of a row
  int stages_k, part;      // stages of all of k, and of one part of it
  int slots, by_row;       // tiles of rows that the grid has (slots.hip)
};

namespace stream {

/// rows_of_slot with the whole block: every thread looks at experts of its own, so that no read waits for another.
__device__ inline grouped::Rows find_rows(const Params& p, int slot) {
  const auto first_slot = [&](int e) { return p.by_row != 0 ? p.offsets[e] : p.offsets[e] / bm + e; };
  int expert = -1;
  for (int base = 0; base < p.experts; base += cfg::threads) {
    const int e = base + wt::flat_thread();
    expert += __syncthreads_count(e < p.experts && first_slot(e) <= slot);
  }
  const int first = p.offsets[expert], end = p.offsets[expert + 1];
  const int begin = p.by_row != 0 ? slot : first + (slot - first_slot(expert)) * bm;
  if (begin < first || begin >= end || (begin - first) % bm != 0) return {expert, 0, 0};
  return {expert, begin, wt::min(end, begin + bm)};
}

/// `ids` in LDS: the row of X for each row of the tile, -1 for none.
struct GatheredRows {
  const char* x;
  i64 stride;
  const int* ids;
  __device__ inline const char* operator()(int row) const { return ids[row] >= 0 ? x + ids[row] * stride : nullptr; }
  __device__ inline int scale_column(int row) const { return ids[row]; }
};

}  // namespace stream

WT_STREAM_KERNEL void grouped_gemm_main(const __grid_constant__ Params p) {
  extern __shared__ __align__(1024) char lds[];
  using namespace stream;
  if constexpr (cfg::overlap != 0) {
    wt::let_successor_start();
    wt::wait_for_predecessor();  // offsets say which weights to read
  }
  const int across = (p.n + part_rows - 1) / part_rows;
  const int id = static_cast<int>(blockIdx.x), part = static_cast<int>(blockIdx.y);
  const int slot = cfg::slots_first != 0 ? id % p.slots : id / across;
  const int j0 = (cfg::slots_first != 0 ? id / p.slots : id % across) * part_rows;
  const grouped::Rows rows = find_rows(p, slot);
  if (rows.begin >= rows.end) return;  // the same for all blocks of a cluster

  float* const row_scales = reinterpret_cast<float*>(lds + ring_bytes);
  int* const ids = reinterpret_cast<int*>(row_scales + bm);
  const auto row_w = [&](int row) { return row / part_rows * p.n + wt::min(j0 + row % part_rows, p.n - 1); };
  const GatheredRows row_x{p.x, p.x_stride, ids};
  const Source<GatheredRows, decltype(row_w)> source{p.w + rows.expert * p.w_expert,
                                                     p.scale_x,
                                                     p.scale_w + rows.expert * p.scale_w_expert,
                                                     p.w_stride,
                                                     p.scale_x_stride,
                                                     p.scale_w_stride,
                                                     p.x_chunks,
                                                     p.w_chunks,
                                                     row_x,
                                                     row_w};
  const auto before_x = [&] {
    for (int i = wt::flat_thread(); i < bm; i += cfg::threads) {
      const int s = rows.begin + i;
      const int row = s >= rows.end ? -1 : cfg::swiglu != 0 ? p.order[s] / cfg::topk : s;
      ids[i] = row;
      if constexpr (row_scales_x) row_scales[i] = row >= 0 ? reinterpret_cast<const float*>(p.scale_x)[row] : 0.0f;
    }
    __syncthreads();
  };
  Sums sums;
  const int begin = part * p.part, end = wt::min(p.stages_k, begin + p.part);
  sum_stages(sums, source, wt::lds_address(lds), begin, end, before_x);
  finish(sums, lds, part, rows.end - rows.begin, [&](int row, int col, const Pair& sum) {
    const float scale = row_scales_x ? row_scales[row] : 1.0f;
    float v[2];
    WT_UNROLL
    for (int e = 0; e < 2; ++e) {
      const float first = sum.v[0][e] * scale;
      v[e] = cfg::swiglu != 0 ? grouped::swiglu(first, sum.v[column_parts - 1][e] * scale) : first;
    }
    const int s = rows.begin + row;
    put_pair(p.out + (cfg::swiglu != 0 ? s : p.order[s]) * p.out_stride + j0 + col, p.n - j0 - col, v[0], v[1]);
  });
}
