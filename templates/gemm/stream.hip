// The stream path's loop over k, and what becomes of the sums.
namespace stream {

/// Adds the block's stages [begin, end), each wk x bk elements of k. Copies of W begin at once; `before_x` is called
/// before anything of X is read.
template <class S, class F>
__device__ inline void sum_stages(Sums& sums, const S& source, u32 lds, int begin, int end, const F& before_x) {
  const Ring ring(lds);
  const LoaderW<S> w(source);
  const LoaderX<S> x{source};
  const int inner = source.w_chunks / (4 * steps);  // turns' stages that lie wholly within k
  const auto first_step = [&](int t) { return (t * wk + turn()) * steps; };
  const auto issue_w = [&](int t, u32 slot) {
    if (t * wk + turn() < inner) {
      w.template issue<false>(ring, slot, first_step(t));
    } else {
      w.template issue<true>(ring, slot, first_step(t));
    }
  };
  WT_UNROLL
  for (int s = 0; s < stages - 1; ++s) {
    if (begin + s < end) issue_w(begin + s, s * stage_bytes);
    wt::commit_copies();
  }
  before_x();
  if constexpr (blocks) {
    fetch_x(source, lds + rest_place, begin * wk * steps, (end - begin) * wk * steps);
    wt::fence_async();
    __syncthreads();
  } else {
    WT_UNROLL
    for (int s = 0; s < stages - 1; ++s) {
      if (begin + s < end) x.fetch(ring, s * stage_bytes, first_step(begin + s));
    }
    if constexpr (groups) {
      fetch_group_scales(source, lds + rest_place, begin * wk * group_count, (end - begin) * wk * group_count);
      __syncthreads();
    }
  }
  clear(sums);
  const int half = mx && rows_w < 32 ? source.row_w(first_row()) / 16 % 2 : 0;
  u32 slot = 0, next = (stages - 1) * stage_bytes;
  for (int t = begin; t < end; ++t) {
    wt::wait_copy_groups<stages - 2>();
    turn_sync();
    if (t + stages - 1 < end) {
      issue_w(t + stages - 1, next);
      if constexpr (!blocks) x.issue(ring, next, first_step(t + stages - 1));
    }
    wt::commit_copies();
    if constexpr (blocks) {
      add_stage_fp4(sums, ring, slot, lds + rest_place + ((t - begin) * wk + turn()) * (steps * x_step_bytes), half);
    } else {
      const u32 scales = lds + rest_place + ((t - begin) * wk + turn()) * (group_count * group_floats * 4);
      add_stage(sums, ring, slot, scales, half);
    }
    next = slot;
    slot = slot + stage_bytes == stages * stage_bytes ? 0 : slot + stage_bytes;
  }
  wt::wait_copy_groups<0>();
  __syncthreads();
}

/// About; as stream_registers in stream.cpp says it to the space.
constexpr int fragment_registers = widens ? 24 * tiles_n : blocks ? (24 + bm / 2) * tiles_n : 16;
constexpr int registers_needed = 40 + 4 * tiles_n * tiles_m * (groups ? 2 : 1) + 8 * tiles_n + fragment_registers;
constexpr int blocks_beside =
    wt::max(1, wt::min((232448 / (ring_bytes + 2048)), 65536 / (cfg::threads * wt::max(64, registers_needed))));

/// Sums of two neighbouring columns, of each column part.
struct Pair {
  float v[column_parts][2];
};

/// Adds up the waves of all turns, and with split_k the blocks of the cluster, in order, and calls put(row of X, column
/// of a column part, Pair) for all rows below `rows`, spread over threads and blocks. Columns are even.
template <class F>
__device__ inline void finish(const Sums& sums, char* lds, int part, int rows, const F& put) {
  float* const tile = reinterpret_cast<float*>(lds);
  const int lane = wt::lane();
  // What the conversions of fp4 left out.
  constexpr float unit = widens ? 0x1p64f : blocks ? 0x1p6f : 1.0f;
  float* const own = tile + turn() * (bm * pitch) + first_row();
  WT_UNROLL
  for (int r = 0; r < tiles_n; ++r) {
    WT_UNROLL
    for (int mt = 0; mt < tiles_m; ++mt) {
      WT_UNROLL
      for (int e = 0; e < 4; ++e)
        own[(mt * 8 + lane % 4 * 2 + e % 2) * pitch + r * 16 + e / 2 * 8 + lane / 4] = sums.v[r][mt][e] * unit;
    }
  }
  __syncthreads();
  constexpr int row_pairs = part_rows / 2;
  const auto each_pair = [&](int first, int stride, const auto& f) {
    for (int i = first; i < rows * row_pairs; i += stride) f(i / row_pairs, i % row_pairs * 2);
  };
  const auto turns = [&](int row, int col) {
    Pair sum{};
    WT_UNROLL
    for (int t = 0; t < wk; ++t) {
      WT_UNROLL
      for (int c = 0; c < column_parts; ++c) {
        const float* const from = tile + (t * bm + row) * pitch + c * part_rows + col;
        sum.v[c][0] += from[0];
        sum.v[c][1] += from[1];
      }
    }
    return sum;
  };
  const int thread = wt::flat_thread();
  if constexpr (cfg::split_k == 1) {
    each_pair(thread, cfg::threads, [&](int row, int col) { put(row, col, turns(row, col)); });
  } else {
    if constexpr (wk > 1) {
      each_pair(thread, cfg::threads, [&](int row, int col) {
        const Pair sum = turns(row, col);
        WT_UNROLL
        for (int c = 0; c < column_parts; ++c) {
          tile[row * pitch + c * part_rows + col] = sum.v[c][0];
          tile[row * pitch + c * part_rows + col + 1] = sum.v[c][1];
        }
      });
    }
    cluster_sync();
    const u32 at = wt::lds_address(tile);
    each_pair(part * cfg::threads + thread, cfg::threads * cfg::split_k, [&](int row, int col) {
      Pair sum{};
      WT_UNROLL
      for (int from = 0; from < cfg::split_k; ++from) {
        WT_UNROLL
        for (int c = 0; c < column_parts; ++c) {
          const u32 place = at + (row * pitch + c * part_rows + col) * 4;
          sum.v[c][0] += load_cluster(place, from);
          sum.v[c][1] += load_cluster(place + 4, from);
        }
      }
      put(row, col, sum);
    });
    cluster_sync();  // others still read this block's sums
  }
}

/// Writes two neighbouring columns of a row of which `cols` are left.
__device__ inline void put_pair(Out* to, int cols, float first, float second) {
  struct alignas(2 * sizeof(Out)) Two {
    Out v[2];
  };
  if (cols >= 2 && reinterpret_cast<u64>(to) % sizeof(Two) == 0) {
    *reinterpret_cast<Two*>(to) = {{wt::cast<Out>(first), wt::cast<Out>(second)}};
  } else {
    if (cols >= 1) to[0] = wt::cast<Out>(first);
    if (cols >= 2) to[1] = wt::cast<Out>(second);
  }
}

}  // namespace stream

// As many blocks beside each other as LDS has room for, unless their registers would not suffice; the blocks that share
// k are a cluster.
#define WT_STREAM_KERNEL                                                          \
  extern "C" __global__ __launch_bounds__(cfg::threads, stream::blocks_beside) \
      __cluster_dims__(1, cfg::split_k, 1)
