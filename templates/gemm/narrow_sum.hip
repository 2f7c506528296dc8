// Path narrow: the sums of a tile, and how the blocks of a cluster and the turns of a block add theirs up.
namespace narrow {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Which part of a tile a thread makes: rows of warpgroup `column`, steps of `turn`.
struct Worker {
  int column, turn, thread;  // thread: among the tile's 128 wn
};
__device__ inline Worker worker() {
  const int thread = static_cast<int>(threadIdx.x), group = thread / 128;
  return {group % wn, group / wn, group % wn * 128 + thread % 128};
}

__device__ inline void release(u32 empty_barrier) {
  if (threadIdx.x % 32 == 0) wt::barrier_arrive(empty_barrier);
}

/// Adds a tile's steps of this warpgroup's turn. factor_w(step) is the scale of its rows in a group of 128 k.
template <class FactorW>
__device__ inline void sum_steps(float (&sum)[sums], const Places& at, const Worker& me, Slot& slot, Steps steps,
                                 const FactorW& factor_w) {
  WT_UNROLL
  for (int i = 0; i < sums; ++i) sum[i] = 0.0f;
  u32 before = 0;
  int x_there = 0;  // steps of X that are known to be there
  const int x_together = copies_x ? steps_of_x_barrier(steps) : 0;
  const u64 x0 = wt::wgmma_operand(at.x);
  const u64 w0 = wt::wgmma_operand(at.ring + me.column * 64 * row_bytes);
  for (int step = steps.begin; step < steps.end; ++step, slot.next()) {
    const int index = step - steps.begin;
    if (wk > 1 && index % wk != me.turn) continue;
    const u64 x = x0 + static_cast<u64>(index * (x_step_bytes / 16));
    const u32 stage = at.ring + slot.number * stage_bytes, empty = at.empty + 8 * slot.number;
    const float scale_w = groups ? factor_w(step) : 1.0f;
    if (copies_x && index >= x_there) {
      // Of the first X; another one is there as a whole (loaded).
      wt::barrier_wait(at.x_full + 8 * (index / x_together), 0);
      x_there = (index / x_together + 1) * x_together;
    }
    wt::barrier_wait(at.full + 8 * slot.number, slot.parity);
    if constexpr (mx) {
      const RowsOfW rows(stage + me.column * 64 * row_bytes, stage + stage_w + me.column * 2 * unit_bytes);
      if constexpr (widens) {
        add_step_widened(sum, rows, x);
      } else {
        add_step_blocks(sum, rows, x);
      }
      release(empty);
    } else {
      const u64 w = w0 + static_cast<u64>(slot.number * (stage_bytes / 16));
      constexpr bool fp8 = bits_x == 8;
      float some[sums];
      wt::wgmma_fence();
      WT_UNROLL
      for (int kk = 0; kk < 4; ++kk) {
        if constexpr (fp8) {
          wt::wgmma<bm>::e4m3(some, w + kk * 2, x + kk * 2, kk == 0 ? 0 : 1);
        } else {
          wt::wgmma<bm>::bf16(sum, w + kk * 2, x + kk * 2, 1);
        }
      }
      wt::wgmma_commit();
      if constexpr (fp8) {
        wt::wgmma_wait<0>();
        release(empty);
        // Hopper adds products of fp8 with about 14 bits behind the point: each step's go to float sums.
        WT_UNROLL
        for (int i = 0; i < sums; ++i) {
          wt::wgmma_hold(some[i]);
          const float factor =
              groups ? scale_w * at.scales_x[index * bm + i / 4 * 8 + wt::lane() % 4 * 2 + i % 2] : 1.0f;
          sum[i] = groups ? wt::fma(some[i], factor, sum[i]) : sum[i] + some[i];
        }
      } else {
        wt::wgmma_wait<1>();
        if (before != 0) release(before);
        before = empty;
      }
    }
  }
  wt::wgmma_wait<0>();
  if (before != 0) release(before);
  WT_UNROLL
  for (int i = 0; i < sums; ++i) wt::wgmma_hold(sum[i]);
}

/// What the conversions of fp4 left out.
constexpr float unit_of_sums = widens ? 0x1p64f : blocks ? 0x1p6f : 1.0f;

/// Sums of one place of all column parts.
struct Complete {
  float v[column_parts];
};

/// Sends a tile's sums to the block that adds them up, and calls put(row of X, column of a column part, Complete) for
/// those that are this block's. `tile`: how many tiles this block has had.
template <class Put>
__device__ inline void finish(const float (&sum)[sums], const Places& at, const Worker& me, int tile, const Put& put) {
  constexpr int width = 128 * wn;
  const int part = part_of_k(), parity = tile % 2;
  const int own = wt::max(0, wt::min(sums_of_block, sums - part * sums_of_block));
  float* const exchange = at.exchange + parity * exchange_floats;
  const int from = (part * wk + me.turn) * sums_of_block * width + me.thread;
  if constexpr (split > 1) {
    const u32 barrier = at.arrived + 8 * parity;
    const u32 to = wt::lds_address(exchange);
    WT_UNROLL
    for (int i = 0; i < sums; ++i) {
      wt::store_to_block(to + static_cast<u32>((from + i % sums_of_block * width) * 4), i / sums_of_block,
                         sum[i] * unit_of_sums);
    }
    __syncwarp();
    if (threadIdx.x % 32 < split) wt::barrier_release_at(barrier, threadIdx.x % 32);
    if constexpr (row_scales_w) worker_barrier();  // they are written by other threads
    wt::barrier_wait_cluster(barrier, static_cast<u32>(tile / 2 % 2));
  } else {
    WT_UNROLL
    for (int i = 0; i < sums; ++i) exchange[from + i * width] = sum[i] * unit_of_sums;
    worker_barrier();
  }
  // Threads of gate's rows also take up's, two waves further.
  constexpr int part_width = width / column_parts;
  for (int i = static_cast<int>(threadIdx.x); i < own * part_width; i += worker_threads) {
    const int in_part = i % part_width, which = i / part_width;
    const int thread = in_part / (128 / column_parts) * 128 + in_part % (128 / column_parts);
    Complete complete{};
    WT_UNROLL
    for (int c = 0; c < contributions; ++c) {
      WT_UNROLL
      for (int p = 0; p < column_parts; ++p)
        complete.v[p] += exchange[(c * sums_of_block + which) * width + thread + p * 64];
    }
    const int s = part * sums_of_block + which, lane = thread % 32, wave = thread % 128 / 32;
    put(s / 4 * 8 + lane % 4 * 2 + s % 2, thread / 128 * run_rows + wave * 16 + lane / 4 + s % 4 / 2 * 8, complete);
  }
}

#endif

}  // namespace narrow
