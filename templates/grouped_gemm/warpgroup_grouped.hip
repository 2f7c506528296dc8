// grouped_gemm on path `warpgroup` of templates/gemm: rows of X are gathered by pair, rows of W are the expert's. With
// swiglu a warpgroup's columns are the same columns of gate and of up, one run behind the other.
struct Params {
  warpgroup::TensorMap w;  // a matrix for each expert
  const char* x;
  const float* scale_x;
  const void* scale_w;
  const int* order;
  const int* offsets;
  warpgroup::Out* out;
  wt::i64 x_stride;        // bytes of a row
  wt::i64 scale_w_expert;  // bytes of one expert
  wt::i64 out_stride;      // elements of a row
  int scale_x_stride, scale_w_stride;
  int experts, n;
  int steps, k_bytes;          // of k: stages; bytes of a row of X
  int scale_rows, scale_cols;  // mx: units of scales of one expert
  int slots, by_row;           // tiles of rows that the grid has (slots.hip)
  int whole;                   // rows of the output begin at multiples of 16 bytes
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace warpgroup {

constexpr int cols = bn / column_parts;  // columns of the output

struct Unit {
  grouped::Rows rows;
  int j0;
};
__device__ inline int units_of(const Params& p) { return p.slots * ((p.n + cols - 1) / cols); }
__device__ inline Unit unit_of(const Params& p, int id) {
  const int across = (p.n + cols - 1) / cols;
  // Neighbouring blocks share rows of X, or columns of one expert's W.
  const int slot = cfg::slots_first != 0 ? id % p.slots : id / across;
  const int j0 = (cfg::slots_first != 0 ? id / p.slots : id % across) * cols;
  return {grouped::rows_of_slot(p.offsets, p.experts, p.by_row != 0, bm, slot), j0};
}
/// The row of X of sorted row s.
__device__ inline int row_x(const Params& p, int s) { return cfg::swiglu != 0 ? p.order[s] / cfg::topk : s; }

__device__ inline void copy_units(const Params& p, Ring& ring) {
  const int thread = static_cast<int>(threadIdx.x % 128);
  if (thread == 0) wt::prefetch_tensor_map(&p.w);
  if constexpr (cfg::overlap == 1) wt::wait_for_predecessor();
  const Steps steps = steps_of(p.steps);
  for (int id = static_cast<int>(blockIdx.x) / cluster; id < units_of(p); id += static_cast<int>(gridDim.x) / cluster) {
    const Unit unit = unit_of(p, id);
    if (unit.rows.begin >= unit.rows.end) continue;
    RowCopier x;
    x.aim(
        p.x, p.x_stride, [&](int i) { return row_x(p, wt::min(unit.rows.begin + i, unit.rows.end - 1)); }, thread);
    const char* const scales = static_cast<const char*>(p.scale_w) + unit.rows.expert * p.scale_w_expert;
    const SourceW w{p.w, scales, p.n, p.scale_rows, p.scale_cols};
    copy_tile_gathered(ring, x, w, {0, unit.j0, 0, unit.rows.expert}, p.k_bytes, steps, thread);
  }
  finish_copying();
}

__device__ inline void make_unit(const Params& p, Ring& ring, const Part& part, const Unit& unit, Steps steps) {
  const int x0 = unit.rows.begin + part.x0, first = x0 + part.row, col = unit.j0 + part.w0 / column_parts;
  Sums sums;
  if constexpr (mx) {
    sum_steps_mx(sums, ring, part, steps);
  } else if constexpr (group_scales) {
    const auto* const scale_w =
        reinterpret_cast<const float*>(static_cast<const char*>(p.scale_w) + unit.rows.expert * p.scale_w_expert);
    const float* scale_x[tiles][2];
    WT_UNROLL
    for (int i = 0; i < tiles; ++i) {
      WT_UNROLL
      for (int h = 0; h < 2; ++h)
        scale_x[i][h] = p.scale_x + row_x(p, wt::min(first + i * 64 + h * 8, unit.rows.end - 1));
    }
    sum_steps_promoted(sums, ring, part, steps, [&](int step, Factors& f) {
      const int k = wt::min(step, p.steps - 1);
      WT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        WT_UNROLL
        for (int h = 0; h < 2; ++h) f.x[i][h] = scale_x[i][h][static_cast<i64>(k) * p.scale_x_stride];
      }
      WT_UNROLL
      for (int which = 0; which < column_parts; ++which)
        f.w[which] = scale_w[static_cast<i64>((which * p.n + wt::min(col, p.n - 1)) / 128) * p.scale_w_stride + k];
    });
  } else {
    sum_steps(sums, ring, part, steps);
  }
  const auto out_row = [&](int s) { return p.out + (cfg::swiglu != 0 ? s : p.order[s]) * p.out_stride; };
  finish(sums, ring, [&](int i, int run, float(&v)[column_parts][run_sums]) {
    if constexpr (column_parts == 2) {
      WT_UNROLL
      for (int x = 0; x < run_sums; ++x) v[0][x] = grouped::swiglu(v[0][x], v[column_parts - 1][x]);
    }
    if constexpr (mx) {
      const int s0 = x0 + run * 32, at = col + i * 64 + part.row / 16 * 16;
      store_run_across([&](int x) { return s0 + x < unit.rows.end ? out_row(s0 + x) + at : nullptr; }, p.n - at,
                       p.whole != 0, v[0]);
    } else {
      const int j0 = col + run * 32;
      WT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int s = first + i * 64 + h * 8;
        const bool exists = s < unit.rows.end;
        store_run(exists ? out_row(s) + j0 : p.out, exists ? p.n - j0 : 0, p.whole != 0, v[0], h);
      }
    }
  });
}

__device__ inline void make_units(const Params& p, Ring& ring) {
  if constexpr (cfg::overlap == 1) wt::wait_for_predecessor();
  const Part part = part_of(ring);
  const Steps steps = steps_of(p.steps);
  for (int id = static_cast<int>(blockIdx.x) / cluster; id < units_of(p); id += static_cast<int>(gridDim.x) / cluster) {
    const Unit unit = unit_of(p, id);
    if (unit.rows.begin < unit.rows.end) {
      make_unit(p, ring, part, unit, steps);
    } else {
      finish_copying();  // the barriers of a cluster that has nothing to do
    }
  }
}

}  // namespace warpgroup

extern "C" __global__ WARPGROUP_CLUSTER __launch_bounds__(cfg::threads, 1) void grouped_gemm_main(
    const __grid_constant__ Params p) {
  extern __shared__ char lds[];
  __shared__ alignas(8) wt::u64 barriers[2 * warpgroup::stages];
  using namespace warpgroup;
  if constexpr (cfg::overlap == 1) wt::let_successor_start();
  Ring ring = make_ring(lds, barriers);
  if (threadIdx.x / 128 == workers) {
    wt::give_up_registers<copier_registers>();
    copy_units(p, ring);
  } else {
    wt::take_registers<worker_registers>();
    make_units(p, ring);
  }
}

#endif
