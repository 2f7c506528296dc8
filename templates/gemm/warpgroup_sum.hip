// The multiplying warpgroups of path `warpgroup`: sums over k of a tile.
namespace warpgroup {

/// A thread's sums. Of each instruction's 64 rows, float 4 j + 2 h + c is row lane / 4 + 8 h of its wave's 16, column 8
/// j + lane % 4 * 2 + c. Rows are X's and columns W's; with mx it is the other way round.
struct Sums {
  float v[tiles][sums_of_tile];
};

/// Which part of a block's tile a worker makes.
struct Part {
  int x0, w0;  // its first rows of X and of W in the tile
  int row;     // the thread's first among the 64
  u64 x, w;    // descriptors of its rows in stage 0
};
__device__ inline Part part_of(const Ring& ring) {
  const int worker = static_cast<int>(threadIdx.x) / 128, lane = static_cast<int>(threadIdx.x) % 32;
  const int wave = static_cast<int>(threadIdx.x) / 32 % 4;
  const int x0 = worker / cfg::wn * worker_x, w0 = worker % cfg::wn * worker_w;
  return {x0, w0, wave * 16 + lane / 4, wt::wgmma_operand(ring.stages_at + x0 * row_bytes),
          wt::wgmma_operand(ring.stages_at + stage_x + w0 * row_bytes)};
}

/// Starts the multiplication of one stage; `accumulate` 0: the sums begin with it.
__device__ inline void multiply(Sums& sums, const Part& part, u32 slot, int accumulate) {
  const u64 skip = slot * (stage_bytes >> 4);
  wt::wgmma_fence();
  WT_UNROLL
  for (int kk = 0; kk < 4; ++kk) {  // 32 bytes of k each
    WT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      const u64 x = part.x + skip + kk * 2 + i * 512, w = part.w + skip + kk * 2;
      if constexpr (is_fp8) {
        wt::wgmma<width>::e4m3(sums.v[i], x, w, kk == 0 ? accumulate : 1);
      } else {
        wt::wgmma<width>::bf16(sums.v[i], x, w, kk == 0 ? accumulate : 1);
      }
    }
  }
  wt::wgmma_commit();
}

__device__ inline void wait_full(const Ring& ring) {
  wt::barrier_wait(ring.full_barrier(), ring.parity);
  if constexpr (gathered) wt::fence_async();  // rows of X came by copies of threads
}

/// One group is always under way, and the stage before it is given back. There is at least one step.
__device__ inline void sum_steps(Sums& sums, Ring& ring, const Part& part, Steps steps) {
  u32 before = 0;
  for (int k = steps.begin; k < steps.end; ++k, ring.next()) {
    wait_full(ring);
    multiply(sums, part, ring.slot, k > steps.begin ? 1 : 0);
    wt::wgmma_wait<1>();
    if (k > steps.begin) release(before);
    before = ring.empty_barrier();
  }
  wt::wgmma_wait<0>();
  release(before);
}

__device__ inline void clear(Sums& sums) {
  WT_UNROLL
  for (int i = 0; i < tiles; ++i) {
    WT_UNROLL
    for (int j = 0; j < sums_of_tile; ++j) sums.v[i][j] = 0.0f;
  }
}

/// Scales of one group of 128 elements of k: of rows part.row + 64 i + 8 h, and of each column part.
struct Factors {
  float x[tiles][2], w[column_parts];
};

/// Adds the instruction's sums of one step, times the step's scales.
__device__ inline void promote(Sums& sums, Sums& some, const Factors& f) {
  WT_UNROLL
  for (int i = 0; i < tiles; ++i) {
    WT_UNROLL
    for (int j = 0; j < sums_of_tile; ++j) {
      wt::wgmma_hold(some.v[i][j]);
      sums.v[i][j] =
          group_scales ? wt::fma(f.x[i][j / 2 % 2] * f.w[j / (sums_of_tile / column_parts)], some.v[i][j], sums.v[i][j])
                       : sums.v[i][j] + some.v[i][j];
    }
  }
}

/// Hopper adds products of fp8 with about 14 bits behind the point: the instruction's sums of each step are added to
/// float sums. fetch(k, factors) gets the scales of step k.
template <class Fetch>
__device__ inline void sum_steps_promoted(Sums& sums, Ring& ring, const Part& part, Steps steps, const Fetch& fetch) {
  clear(sums);
  if constexpr (3 * tiles * sums_of_tile <= 192) {
    // Two steps' sums: one is multiplied while the other is added.
    Sums even, odd;
    Factors f_even, f_odd;
    u32 before;
    const auto start = [&](int k, Sums& some, Factors& f) {
      fetch(k, f);
      wait_full(ring);
      multiply(some, part, ring.slot, 0);
    };
    // What was started before the newest is done.
    const auto add = [&](Sums& some, const Factors& f) {
      wt::wgmma_wait<1>();
      release(before);
      before = ring.empty_barrier();
      ring.next();
      promote(sums, some, f);
    };
    const auto add_last = [&](Sums& some, const Factors& f) {
      wt::wgmma_wait<0>();
      release(before);
      promote(sums, some, f);
    };
    start(steps.begin, even, f_even);
    before = ring.empty_barrier();
    ring.next();
    int k = steps.begin;
    for (; k + 2 < steps.end; k += 2) {
      start(k + 1, odd, f_odd);
      add(even, f_even);
      start(k + 2, even, f_even);
      add(odd, f_odd);
    }
    if (k + 1 < steps.end) {
      start(k + 1, odd, f_odd);
      add(even, f_even);
      add_last(odd, f_odd);
    } else {
      add_last(even, f_even);
    }
  } else {
    Sums some;
    Factors f;
    for (int k = steps.begin; k < steps.end; ++k, ring.next()) {
      fetch(k, f);
      wait_full(ring);
      multiply(some, part, ring.slot, 0);
      wt::wgmma_wait<0>();
      release(ring.empty_barrier());
      promote(sums, some, f);
    }
  }
}

}  // namespace warpgroup
