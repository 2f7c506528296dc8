// The copying warpgroup of path `warpgroup`: tiles of X and W from memory to the ring.
namespace warpgroup {

/// Where a tile lies: rows of X from i0 and of W from j0 (of the first column part; the others follow n rows apart), in
/// matrix `batch_x` and `batch_w`.
struct Tile {
  int i0, j0, batch_x, batch_w;
};

/// What the copies of W need to know: its tensor map, and of fp4 the scales (shuffled, templates/gemm/arrange.h).
struct SourceW {
  const TensorMap& map;
  const char* scales;          // of the tile's matrix
  int n;                       // rows of a column part
  int scale_rows, scale_cols;  // units of scales of all column parts, along W's rows and along k
};

/// One thread: the rows of W of step `k`.
__device__ inline void copy_w(const Ring& ring, const SourceW& w, const Tile& tile, int k) {
  constexpr int rows = run_w / multicast;  // of one copy
  const int first = place_in_multicast() * rows;
  WT_UNROLL
  for (int run = 0; run < cfg::wn * column_parts; ++run) {
    const u32 to = ring.stage() + stage_x + static_cast<u32>((run * run_w + first) * w_row_bytes);
    const int row = run % column_parts * w.n + tile.j0 + run / column_parts * run_w + first;
    if constexpr (multicast > 1) {
      wt::copy_tensor_to(to, &w.map, k * w_row_bytes, row, tile.batch_w, ring.full_barrier(), (1u << multicast) - 1);
    } else {
      wt::copy_tensor(to, &w.map, k * w_row_bytes, row, tile.batch_w, ring.full_barrier());
    }
    if constexpr (mx) {
#pragma unroll 1
      for (int i = 0; i < run_w / scale_unit_rows; ++i) {
        const i64 unit = static_cast<i64>(wt::min(row / scale_unit_rows + i, w.scale_rows - 1)) * w.scale_cols +
                         wt::min(k / 2, w.scale_cols - 1);
        const u32 place = static_cast<u32>(run * (run_w / scale_unit_rows) + i) * scale_unit_bytes;
        wt::copy_bulk(ring.stage() + stage_x + stage_w + place, w.scales + unit * scale_unit_bytes, scale_unit_bytes,
                      ring.full_barrier());
      }
    }
  }
}

__device__ inline void copy_x(const Ring& ring, const TensorMap& x, const Tile& tile, int k) {
  WT_UNROLL
  for (int run = 0; run < x_runs; ++run) {
    wt::copy_tensor(ring.stage() + run * bm * row_bytes, &x, (k * x_runs + run) * row_bytes, tile.i0, tile.batch_x,
                    ring.full_barrier());
  }
}

/// One thread: all of a tile. What is in W does not depend on the kernel before: the first stages' W is copied before
/// that has ended.
__device__ inline void copy_tile(Ring& ring, const TensorMap& x, const SourceW& w, const Tile& tile, Steps steps,
                                 bool first) {
  int ahead = steps.begin;
  if (cfg::overlap == 1 && first) {
    Ring at = ring;
    for (; ahead < wt::min(steps.end, steps.begin + stages); ++ahead, at.next()) {
      wt::barrier_arrive_expect(at.full_barrier(), stage_filled);
      copy_w(at, w, tile, ahead);
    }
    wt::wait_for_predecessor();
  }
  for (int k = steps.begin; k < steps.end; ++k, ring.next()) {
    if (k >= ahead) {
      wt::barrier_wait(ring.empty_barrier(), ring.parity ^ 1);
      wt::barrier_arrive_expect(ring.full_barrier(), stage_filled);
      copy_w(ring, w, tile, k);
    }
    copy_x(ring, x, tile, k);
  }
}

/// Rows of X one by one, wherever they lie: 16 bytes a copy, eight lanes a row.
struct RowCopier {
  static constexpr int rows = bm / 16;  // of a thread
  const char* x;
  u32 from[rows];  // its chunk of step 0, in 16 bytes from x
  int chunk;

  /// row_at(i): which row of X is row i of the tile.
  template <class RowAt>
  __device__ inline void aim(const char* x_, i64 stride, const RowAt& row_at, int thread) {
    x = x_;
    chunk = thread % 8;
    WT_UNROLL
    for (int i = 0; i < rows; ++i) from[i] = static_cast<u32>(row_at(i * 16 + thread / 8) * (stride / 16) + chunk);
  }
  __device__ inline void copy(const Ring& ring, int k, int k_bytes, int thread) const {
    const int row = thread / 8;
    const u32 to = ring.stage() + static_cast<u32>(row * row_bytes + (chunk ^ (row % 8)) * 16);
#pragma unroll 1
    for (int run = 0; run < x_runs; ++run) {
      const int at = (k * x_runs + run) * row_bytes;
      const bool inside = at + chunk * 16 < k_bytes;
      WT_UNROLL
      for (int i = 0; i < rows; ++i) {
        wt::copy_async_if(to + (run * bm + i * 16) * row_bytes, x + (inside ? at : 0) + static_cast<u64>(from[i]) * 16,
                          inside);
      }
    }
    wt::barrier_arrive_after_copies(ring.full_barrier());
  }
};

/// The whole warpgroup: a tile whose rows of X are gathered.
__device__ inline void copy_tile_gathered(Ring& ring, const RowCopier& x, const SourceW& w, const Tile& tile,
                                          int k_bytes, Steps steps, int thread) {
  for (int k = steps.begin; k < steps.end; ++k, ring.next()) {
    wt::barrier_wait(ring.empty_barrier(), ring.parity ^ 1);
    if (thread == 0) {
      wt::barrier_arrive_expect(ring.full_barrier(), stage_w + stage_scales);
      copy_w(ring, w, tile, k);
    }
    x.copy(ring, k, k_bytes, thread);
  }
}

}  // namespace warpgroup
