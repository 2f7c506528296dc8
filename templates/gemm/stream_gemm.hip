// C = X W^T on the stream path of the gemm operator.
struct Params {
  const char* x;
  const char* w;
  const char* scale_x;
  const char* scale_w;
  stream::Out* c;
  wt::i64 x_stride, w_stride, c_stride;  // bytes of a row of X; of W (shuffled: of 16 rows); elements of a row of C
  wt::i64 x_batch, w_batch, c_batch;     // bytes, bytes, elements
  wt::i64 scale_x_stride, scale_w_stride;  // bytes from group to group; from 32 rows (mx) or 128 (groups) to the next
  int m, n;
  int x_chunks, w_chunks;  // 16-byte chunks of a row
  int stages_k, part;      // stages of all of k, and of one part of it
  int tiles_m;
};

namespace stream {

struct DenseRows {
  const char* first;
  i64 stride;
  int rows, i0;
  __device__ inline const char* operator()(int row) const { return row < rows ? first + row * stride : nullptr; }
  __device__ inline int scale_column(int row) const { return row < rows ? i0 + row : -1; }
};

}  // namespace stream

WT_STREAM_KERNEL void gemm_main(const __grid_constant__ Params p) {
  extern __shared__ __align__(1024) char lds[];
  using namespace stream;
  if constexpr (cfg::overlap != 0) wt::let_successor_start();
  const int j0 = static_cast<int>(blockIdx.x) * bn, part = static_cast<int>(blockIdx.y);
  const int i0 = static_cast<int>(blockIdx.z) % p.tiles_m * bm, batch = static_cast<int>(blockIdx.z) / p.tiles_m;
  const int rows = wt::min(p.m - i0, bm);
  const auto row_w = [&](int row) { return wt::min(j0 + row, p.n - 1); };
  const DenseRows row_x{p.x + batch * p.x_batch + i0 * p.x_stride, p.x_stride, rows, i0};
  const Source<DenseRows, decltype(row_w)> source{
      p.w + batch * p.w_batch, p.scale_x, p.scale_w, p.w_stride, p.scale_x_stride, p.scale_w_stride, p.x_chunks,
      p.w_chunks,              row_x,     row_w};

  float* const row_scales = reinterpret_cast<float*>(lds + ring_bytes);
  const auto before_x = [&] {
    if constexpr (cfg::overlap != 0) wt::wait_for_predecessor();
    const int thread = wt::flat_thread();
    if constexpr (row_scales_x) {
      for (int i = thread; i < rows; i += cfg::threads)
        row_scales[i] = reinterpret_cast<const float*>(p.scale_x)[i0 + i];
    }
    if constexpr (row_scales_w) {
      for (int i = thread; i < bn; i += cfg::threads)
        row_scales[bm + i] = reinterpret_cast<const float*>(p.scale_w)[row_w(i)];
    }
  };
  Sums sums;
  const int begin = part * p.part, end = wt::min(p.stages_k, begin + p.part);
  sum_stages(sums, source, wt::lds_address(lds), begin, end, before_x);
  finish(sums, lds, part, rows, [&](int row, int col, Pair sum) {
    float* const v = sum.v[0];
    if constexpr (row_scales_x || row_scales_w) {
      WT_UNROLL
      for (int e = 0; e < 2; ++e)
        v[e] *= (row_scales_x ? row_scales[row] : 1.0f) * (row_scales_w ? row_scales[bm + col + e] : 1.0f);
    }
    put_pair(p.c + batch * p.c_batch + (i0 + row) * p.c_stride + j0 + col, p.n - j0 - col, v[0], v[1]);
  });
}
