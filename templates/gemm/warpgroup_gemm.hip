// The kernel of gemm's path `warpgroup`.
struct Params {
  warpgroup::TensorMap x, w;
  const float* scale_x;
  const void* scale_w;
  warpgroup::Out* c;
  wt::i64 c_stride, c_batch;  // elements
  int scale_x_stride, scale_w_stride;
  int m, n, batch;
  int steps;                   // of k
  int scale_rows, scale_cols;  // mx: units of scales
  int whole;                   // rows of C begin at multiples of 16 bytes
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace warpgroup {

/// Tile `unit` of a batch and its matrix. Tiles (of all blocks of a multicast) are walked in groups of cfg::group_m
/// rows, so that their rows of W are still in L2.
__device__ inline Tile tile_of(const Params& p, int unit) {
  constexpr int rows_together = bm * multicast;
  const int down = (p.m + rows_together - 1) / rows_together,
            across = (p.n + bn / column_parts - 1) / (bn / column_parts);
  const int batch = unit / (down * across), id = unit % (down * across);
  const int group = id / (cfg::group_m * across), first = group * cfg::group_m;
  const int rows = wt::min(cfg::group_m, down - first), in_group = id - first * across;
  const int i = (first + in_group % rows) * multicast + place_in_multicast();
  return {i * bm, in_group / rows * (bn / column_parts), batch, batch};
}
__device__ inline int units_of(const Params& p) {
  constexpr int rows_together = bm * multicast;
  return (p.m + rows_together - 1) / rows_together * ((p.n + bn - 1) / bn) * p.batch;
}

__device__ inline void copy_tiles(const Params& p, Ring& ring) {
  if (threadIdx.x % 128 == 0) {
    wt::prefetch_tensor_map(&p.x);
    wt::prefetch_tensor_map(&p.w);
    const SourceW w{p.w, static_cast<const char*>(p.scale_w), p.n, p.scale_rows, p.scale_cols};
    const int units = units_of(p), first = static_cast<int>(blockIdx.x) / cluster;
    const Steps steps = steps_of(p.steps);
    for (int unit = first; unit < units; unit += static_cast<int>(gridDim.x) / cluster) {
      copy_tile(ring, p.x, w, tile_of(p, unit), steps, unit == first);
    }
  }
  finish_copying();
}

__device__ inline void make_tile(const Params& p, Ring& ring, const Part& part, const Tile& tile, Steps steps) {
  const int x0 = tile.i0 + part.x0, w0 = tile.j0 + part.w0, row = x0 + part.row;
  const auto* const scale_w = static_cast<const float*>(p.scale_w);
  Sums sums;
  if constexpr (mx) {
    sum_steps_mx(sums, ring, part, steps);
  } else if constexpr (group_scales) {
    const float* const scales = scale_w + static_cast<i64>(wt::min(w0, p.n - 1) / 128) * p.scale_w_stride;
    sum_steps_promoted(sums, ring, part, steps, [&](int step, Factors& f) {
      const int k = wt::min(step, p.steps - 1);
      const float* const scale_x = p.scale_x + static_cast<i64>(k) * p.scale_x_stride;
      WT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        WT_UNROLL
        for (int h = 0; h < 2; ++h) f.x[i][h] = scale_x[wt::min(row + i * 64 + h * 8, p.m - 1)];
      }
      f.w[0] = scales[k];
    });
  } else if constexpr (is_fp8) {
    sum_steps_promoted(sums, ring, part, steps, [](int, Factors&) {});
  } else {
    sum_steps(sums, ring, part, steps);
  }
  Out* const c = p.c + tile.batch_x * p.c_batch;
  finish(sums, ring, [&](int i, int run, float(&v)[column_parts][run_sums]) {
    if constexpr (mx) {
      const int first = x0 + run * 32, col = w0 + i * 64 + part.row / 16 * 16;
      store_run_across([&](int x) { return first + x < p.m ? c + (first + x) * p.c_stride + col : nullptr; }, p.n - col,
                       p.whole != 0, v[0]);
    } else {
      const int j0 = w0 + run * 32, q = static_cast<int>(threadIdx.x % 4);
      if constexpr (row_scales) {
        WT_UNROLL
        for (int j = 0; j < 4; ++j) {
          WT_UNROLL
          for (int x = 0; x < 2; ++x) {
            const float f = scale_w[wt::min(j0 + j * 8 + q * 2 + x, p.n - 1)];
            v[0][j * 4 + x] *= f;
            v[0][j * 4 + 2 + x] *= f;
          }
        }
      }
      WT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int at = row + i * 64 + h * 8;
        if constexpr (row_scales) {
          const float f = p.scale_x[wt::min(at, p.m - 1)];
          WT_UNROLL
          for (int j = 0; j < 4; ++j) {
            v[0][j * 4 + h * 2] *= f;
            v[0][j * 4 + h * 2 + 1] *= f;
          }
        }
        // Lanes of a row act together, so that the exchange within store_run is complete.
        store_run(c + at * p.c_stride + j0, at < p.m ? p.n - j0 : 0, p.whole != 0, v[0], h);
      }
    }
  });
}

__device__ inline void make_tiles(const Params& p, Ring& ring) {
  const Part part = part_of(ring);
  const int units = units_of(p), first = static_cast<int>(blockIdx.x) / cluster;
  const Steps steps = steps_of(p.steps);
  if constexpr (cfg::overlap == 1) wt::wait_for_predecessor();
  for (int unit = first; unit < units; unit += static_cast<int>(gridDim.x) / cluster) {
    make_tile(p, ring, part, tile_of(p, unit), steps);
  }
  finish_working();
}

}  // namespace warpgroup

extern "C" __global__ WARPGROUP_CLUSTER __launch_bounds__(cfg::threads, 1) void gemm_main(
    const __grid_constant__ Params p) {
  extern __shared__ char lds[];
  __shared__ alignas(8) wt::u64 barriers[2 * warpgroup::stages];
  using namespace warpgroup;
  if constexpr (cfg::overlap == 1) wt::let_successor_start();
  Ring ring = make_ring(lds, barriers);
  if (threadIdx.x / 128 == workers) {
    wt::give_up_registers<copier_registers>();
    copy_tiles(p, ring);
  } else {
    wt::take_registers<worker_registers>();
    make_tiles(p, ring);
  }
}

#endif
