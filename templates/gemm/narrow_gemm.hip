// C = X W^T on the narrow path of the gemm operator.
struct Params {
  narrow::TensorMap w, x_map;
  const char* x;
  const char* scale_x;
  const void* scale_w;
  narrow::Out* c;
  wt::i64 x_stride, x_batch, c_stride, c_batch;  // bytes, bytes, elements, elements
  wt::i64 scale_x_stride, scale_w_stride;        // elements from group to group; from 128 rows to the next
  int m, n, batch;
  int steps, part_steps;       // of k, and of the largest part of it
  int x_chunks;                // 16-byte chunks of a row
  int scale_rows, scale_cols;  // mx: units of scales
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace narrow {

/// A unit's tile: rows of X from i0 and columns from j0 of a matrix.
struct Tile {
  int matrix, i0, j0;
};
__device__ inline int across(const Params& p) { return (p.n + part_rows - 1) / part_rows; }
__device__ inline int down(const Params& p) { return (p.m + bm - 1) / bm; }
__device__ inline Tile tile_of(const Params& p, int unit) {
  const int rows = unit / across(p);
  return {rows / down(p), rows % down(p) * bm, unit % across(p) * part_rows};
}

__device__ inline void make_units(const Params& p, const Places& at, Units units, Steps steps) {
  if constexpr (cfg::overlap == 1) wt::wait_for_predecessor();
  const Worker me = worker();
  Slot slot;
  int rows_of = -1;
  for (int unit = units.begin; unit < units.end; ++unit) {
    const Tile tile = tile_of(p, unit);
    const int rows = wt::min(p.m - tile.i0, bm), number = unit - units.begin;
    float own_scale = 0;
    if constexpr (row_scales_w) {
      if (threadIdx.x < tile_rows)
        own_scale = static_cast<const float*>(p.scale_w)[wt::min(tile.j0 + static_cast<int>(threadIdx.x), p.n - 1)];
    }
    if (unit / across(p) != rows_of) {
      if (rows_of >= 0) worker_barrier();  // others still multiply with what lies there
      rows_of = unit / across(p);
      const char* const x = p.x + tile.matrix * p.x_batch + tile.i0 * p.x_stride;
      if (!copies_x || number > 0) load_x(at, steps, rows, p.x_chunks, [&](int row) { return x + row * p.x_stride; });
      if (number == 0) wait_for_barriers();
      const auto* const scale_x = reinterpret_cast<const float*>(p.scale_x) + tile.i0;
      if constexpr (row_scales_x) {
        if (threadIdx.x < static_cast<u32>(rows)) at.scales_x[threadIdx.x] = scale_x[threadIdx.x];
      }
      if constexpr (groups) {
        for (int i = static_cast<int>(threadIdx.x); i < (steps.end - steps.begin) * bm; i += worker_threads)
          at.scales_x[i] = i % bm < rows ? scale_x[(steps.begin + i / bm) * p.scale_x_stride + i % bm] : 0.0f;
      }
      loaded();
    }
    float sum[sums];
    const int first_row = wt::min(tile.j0 + me.column * 64, p.n - 1);
    sum_steps(sum, at, me, slot, steps, [&](int step) {
      return static_cast<const float*>(p.scale_w)[first_row / 128 * p.scale_w_stride + step];
    });
    float* const scales_w = at.scales_w + number % 2 * tile_rows;
    if constexpr (row_scales_w) {
      if (threadIdx.x < tile_rows) scales_w[threadIdx.x] = own_scale;
    }
    Out* const c = p.c + tile.matrix * p.c_batch + tile.i0 * p.c_stride + tile.j0;
    finish(sum, at, me, number, [&](int row, int col, const Complete& complete) {
      float v = complete.v[0];
      if constexpr (row_scales_x) v *= at.scales_x[row];
      if constexpr (row_scales_w) v *= scales_w[col];
      if (row < rows && tile.j0 + col < p.n) c[row * p.c_stride + col] = wt::cast<Out>(v);
    });
  }
}

}  // namespace narrow

extern "C" __global__ WT_NARROW_CLUSTER __launch_bounds__(cfg::threads, cfg::beside) void gemm_main(
    const __grid_constant__ Params p) {
  extern __shared__ char lds[];
  __shared__ alignas(8) wt::u64 barrier[narrow::barriers];
  using namespace narrow;
  if constexpr (cfg::overlap == 1) wt::let_successor_start();
  const Places at = places_in(lds, barrier, p.part_steps);
  const Units units = units_of(across(p) * down(p) * p.batch);
  const Steps steps = steps_of(p.steps);
  // A block ends when it has added up its last sums: then nothing more is sent to it.
  if (threadIdx.x < worker_threads) {
    announce();
    make_units(p, at, units, steps);
  } else {
    make_barriers(at);
    if (wt::lane() == 0) {
      wt::prefetch_tensor_map(&p.w);
      if constexpr (copies_x) wt::prefetch_tensor_map(&p.x_map);
      const SourceW w{&p.w, p.n, p.scale_rows, p.scale_cols};
      const auto tile_at = [&](int unit) {
        const Tile tile = tile_of(p, unit);
        return TileW{tile.j0, tile.matrix, static_cast<const char*>(p.scale_w)};
      };
      copy_units(at, w, units, steps, tile_at, [&] {
        if constexpr (copies_x) {
          if constexpr (cfg::overlap == 1) wt::wait_for_predecessor();
          const Tile first = tile_of(p, units.begin);
          copy_x(at, &p.x_map, steps, first.i0, first.matrix);
        }
      });
    }
    __syncwarp();
    if constexpr (split > 1) wt::cluster_wait();
  }
}

#endif
