// Few rows of X times W^T on compute capability 9.0a, bound by the bytes of W (path `narrow` of gemm).
//
// W's rows are the instruction's 64 and X's its 8 to 32 columns. One wave of a block brings W into a ring, 128 bytes of
// k of the tile's rows at a time; wn x wk warpgroups multiply it, wn side by side along the rows and wk in turns along
// k. X lies in LDS as a whole, all of the block's part of k of it, and is read again only when its rows change; of
// more than a few rows the first comes by copies of the same wave, so that work begins before all of it is there.
// Blocks stay and go from tile to tile, so that W never stops flowing; a multiprocessor has one, and where LDS allows
// it the first of the kernel after this one, whose W is on its way before this one has ended. With split_k > 1 the
// blocks of a cluster share a tile's k and send each other their sums.
//
// cfg: format_x, format_w, scale_x, scale_w (templates/gemm/matrix.h), out_dtype, bm, wn, wk, stages, split_k,
// column_parts, beside (blocks that a multiprocessor is to have room for), overlap, threads.
namespace narrow {

using wt::chunk;
using wt::i64;
using wt::u32;
using wt::u64;

using Out = wt::element<cfg::out_dtype>;

constexpr int bits_of(int format) { return format == 16 ? 16 : format == wt::fp4 ? 4 : 8; }
constexpr int bits_x = bits_of(cfg::format_x), bits_w = bits_of(cfg::format_w);
constexpr bool mx = bits_w == 4;
constexpr bool widens = mx && bits_x == 16;  // fp4 becomes bf16 and is scaled at once
constexpr bool blocks = mx && bits_x == 8;   // fp4 becomes fp8; the sums of 32 products are scaled
constexpr bool groups = cfg::scale_x == 1;
constexpr bool row_scales_x = cfg::scale_x == 3, row_scales_w = cfg::scale_w == 3;

constexpr int bm = cfg::bm, wn = cfg::wn, wk = cfg::wk, stages = cfg::stages, split = cfg::split_k;
constexpr int column_parts = cfg::column_parts;
constexpr int tile_rows = 64 * wn;                   // of W
constexpr int part_rows = tile_rows / column_parts;  // of each column part: columns of the output
constexpr int run_rows = 64 / column_parts;          // of one copy: a warpgroup has a run of each column part
constexpr int worker_threads = 128 * wn * wk;

/// A step: 128 bytes of k of every row of W, and as many runs of 128 bytes of X's as that takes.
constexpr int row_bytes = 128, step_k = 8 * row_bytes / bits_w;
constexpr int x_runs = step_k * bits_x / (8 * row_bytes);
constexpr int x_run_bytes = bm * row_bytes, x_step_bytes = x_runs * x_run_bytes;
constexpr int unit_rows = 32, unit_bytes = 256;  // of shuffled mx scales: 32 rows x 256 k
constexpr int stage_w = tile_rows * row_bytes, stage_scales = mx ? tile_rows / unit_rows * unit_bytes : 0;
constexpr int stage_filled = stage_w + stage_scales, stage_bytes = (stage_filled + 1023) / 1024 * 1024;

/// Sums of a thread, and how many of them each block of the cluster adds up and writes.
constexpr int sums = bm / 2, sums_of_block = (sums + split - 1) / split;
constexpr int contributions = wk * split;
constexpr int exchange_floats = contributions * sums_of_block * 128 * wn;

#ifndef WT_NARROW_CLUSTER
#define WT_NARROW_CLUSTER
#endif

/// Rows of bytes in memory and the box that one copy moves (laid out by templates/gemm/tensor_map.cpp).
struct alignas(64) TensorMap {
  u64 words[16];
};

/// A block's places in LDS. Behind the ring: X; then what changes with the tile (two of each, for tiles in turns): the
/// sums that are exchanged, and scales of W's rows; then scales of X.
struct Places {
  u32 ring, full, empty, arrived, x_full, x;
  float* exchange;
  float* scales_w;
  float* scales_x;  // of rows; groups: [step][row]
};
constexpr bool copies_x = !mx && bm >= 16;     // fp4 wants k in another order
constexpr int x_barriers = copies_x ? 8 : 0;  // each of a part of X's steps
constexpr int barriers = 2 * stages + 2 + x_barriers;

__device__ inline Places places_in(char* lds, u64* barrier, int part_steps) {
  Places at;
  char* const start = lds + (1024 - wt::lds_address(lds) % 1024) % 1024;
  at.ring = wt::lds_address(start);
  at.full = wt::lds_address(barrier);
  at.empty = at.full + 8 * stages;
  at.arrived = at.empty + 8 * stages;
  at.x_full = at.arrived + 16;
  at.x = at.ring + stages * stage_bytes;
  at.exchange = reinterpret_cast<float*>(start + stages * stage_bytes + part_steps * x_step_bytes);
  at.scales_w = at.exchange + 2 * exchange_floats;
  at.scales_x = at.scales_w + 2 * tile_rows;
  return at;
}

// Workers do not meet the wave that makes the barriers before X has been asked for: it is copying W by then.

constexpr int made = 2;  // number of the block's barrier

/// The copying wave, before all else.
__device__ inline void make_barriers(const Places& at) {
  if (wt::lane() == 0) {
    for (int i = 0; i < stages; ++i) {
      wt::barrier_init(at.full + 8 * i, 1);
      wt::barrier_init(at.empty + 8 * i, 4 * wn);
    }
    for (int i = 0; i < 2; ++i) wt::barrier_init(at.arrived + 8 * i, 4 * wn * contributions);
    for (int i = 0; i < x_barriers; ++i) wt::barrier_init(at.x_full + 8 * i, 1);
    wt::fence_barrier_init();
  }
  __syncwarp();
  if constexpr (split > 1) {
    wt::cluster_arrive();
  } else {
    wt::barrier_of_arrive(made, cfg::threads);
  }
}
/// Workers, at the beginning and before they use a barrier: those of all blocks of the cluster are there then.
__device__ inline void announce() {
  if constexpr (split > 1) wt::cluster_arrive();
}
__device__ inline void wait_for_barriers() {
  __syncwarp();
  if constexpr (split > 1) {
    wt::cluster_wait();
  } else {
    wt::barrier_of(made, cfg::threads);
  }
}

/// Where a wave is in the ring.
struct Slot {
  u32 number = 0, parity = 0;
  __device__ inline void next() {
    if (++number == stages) {
      number = 0;
      parity ^= 1;
    }
  }
};

__device__ inline int part_of_k() { return split > 1 ? static_cast<int>(wt::block_in_cluster()) : 0; }

/// Steps of k of a block. There may be none.
struct Steps {
  int begin, end;
};
__device__ inline Steps steps_of(int all) {
  const int part = part_of_k();
  return {part * all / split, (part + 1) * all / split};
}

/// Units of work (a tile each) of a block's cluster: neighbours, so that X stays.
struct Units {
  int begin, end;
};
__device__ inline Units units_of(int all) {
  const int cluster = static_cast<int>(blockIdx.x) / split, clusters = static_cast<int>(gridDim.x) / split;
  return {static_cast<int>(static_cast<i64>(cluster) * all / clusters),
          static_cast<int>((static_cast<i64>(cluster) + 1) * all / clusters)};
}

/// Where a tile's rows of W are: of column part c from row c * n + j0 of `matrix` on.
struct TileW {
  int j0, matrix;
  const char* scales;  // mx: of the matrix
};
/// What is the same for all tiles. `scale_rows`, `scale_cols`: units of scales of a matrix.
struct SourceW {
  const TensorMap* map;
  int n, scale_rows, scale_cols;
};

/// One thread: a tile's rows of one step into the ring.
__device__ inline void copy_step(const Places& at, u32 slot, const SourceW& w, const TileW& tile, int step) {
  const u32 to = at.ring + slot * stage_bytes, barrier = at.full + 8 * slot;
  wt::barrier_arrive_expect(barrier, stage_filled);
  WT_UNROLL
  for (int run = 0; run < wn * column_parts; ++run) {
    const int row = run % column_parts * w.n + tile.j0 + run / column_parts * run_rows;
    wt::copy_tensor(to + run * run_rows * row_bytes, w.map, step * row_bytes, row, tile.matrix, barrier);
    if constexpr (mx) {
      WT_UNROLL
      for (int i = 0; i < run_rows / unit_rows; ++i) {
        const i64 unit = static_cast<i64>(wt::min(row / unit_rows + i, w.scale_rows - 1)) * w.scale_cols +
                         wt::min(step, w.scale_cols - 1);
        wt::copy_bulk(to + stage_w + (run * (run_rows / unit_rows) + i) * unit_bytes, tile.scales + unit * unit_bytes,
                      unit_bytes, barrier);
      }
    }
  }
}

/// Steps of X that share a barrier.
__device__ inline int steps_of_x_barrier(Steps steps) {
  return (steps.end - steps.begin + x_barriers - 1) / wt::max(1, x_barriers);
}
/// One thread: bm rows of X from `row` on, in the order of k.
__device__ inline void copy_x(const Places& at, const TensorMap* x, Steps steps, int row, int matrix) {
  const int count = steps.end - steps.begin, together = steps_of_x_barrier(steps);
  for (int i = 0; i < count; ++i) {
    const u32 barrier = at.x_full + 8 * (i / together);
    if (i % together == 0) wt::barrier_arrive_expect(barrier, wt::min(together, count - i) * x_step_bytes);
    wt::copy_tensor(at.x + i * x_step_bytes, x, (steps.begin + i) * row_bytes, row, matrix, barrier);
  }
}

/// One thread: all of a block's W. tile_at(unit) says where a unit's rows are. `filled_once` is called when the ring
/// has been filled for the first time.
template <class TileAt, class FilledOnce>
__device__ inline void copy_units(const Places& at, const SourceW& w, Units units, Steps steps, const TileAt& tile_at,
                                  const FilledOnce& filled_once) {
  Slot slot;
  int filled = 0;
  bool called = false;
  for (int unit = units.begin; unit < units.end; ++unit) {
    const TileW tile = tile_at(unit);
    for (int step = steps.begin; step < steps.end; ++step, slot.next()) {
      if (filled < stages) {
        ++filled;
      } else {
        if (!called) filled_once();
        called = true;
        wt::barrier_wait(at.empty + 8 * slot.number, slot.parity ^ 1);
      }
      copy_step(at, slot.number, w, tile, step);
    }
  }
  if (!called) filled_once();
}

}  // namespace narrow
