// grouped_gemm on matrix instructions (paths tile and skinny of templates/gemm): rows of X are gathered by pair, rows
// of W are the expert's.
//
// cfg: swiglu, topk, slots_first, beside those of templates/gemm. With swiglu a wave's columns are the same columns of
// gate and of up, one run below the other.
struct Params {
  const void* x;
  const void* w;
  const void* scale_x;
  const void* scale_w;
  const int* order;
  const int* offsets;
  gemm::Out* out;
  float* partial;                    // [parts, pairs, columns of all column parts]; null when k is not split
  wt::i64 x_stride, w_stride;        // bytes of a row (W shuffled: of 16 rows)
  wt::i64 w_expert, scale_w_expert;  // bytes of one expert
  wt::i64 x_bytes, w_bytes;          // of X; of one expert's W
  wt::i64 scale_x_bytes;
  wt::i64 out_stride, out_bytes;  // elements of a row; bytes of all
  int pairs, experts, n;
  int x_chunks, w_chunks;  // 16-byte chunks of a row
  int scale_x_stride, scale_w_stride, scale_blocks;
  int stages_k, full, part, parts;  // stages of k, those wholly within it, those of one part; parts
  int slots;                        // tiles of rows that the grid has
  int by_row;
  int in_runs;
};

namespace gemm {

/// sums[...][i] of gate becomes the result, from it and up's.
template <int NM, int NN>
__device__ inline Sums<NM, NN / 2> activate(const Sums<NM, NN>& sums) {
  Sums<NM, NN / 2> result;
  WT_UNROLL
  for (int mt = 0; mt < NM; ++mt) {
    WT_UNROLL
    for (int nt = 0; nt < NN / 2; ++nt) {
      WT_UNROLL
      for (int i = 0; i < runs * 4; ++i) {
        result.v[mt][nt][i] = grouped::swiglu(sums.v[mt][nt][i], sums.v[mt][nt + NN / 2][i]);
      }
    }
  }
  return result;
}

/// One of a wave's column parts.
template <int PART, int NM, int NN>
__device__ inline Sums<NM, NN / column_parts> part_of(const Sums<NM, NN>& sums) {
  Sums<NM, NN / column_parts> result;
  WT_UNROLL
  for (int mt = 0; mt < NM; ++mt) {
    WT_UNROLL
    for (int nt = 0; nt < NN / column_parts; ++nt) result.v[mt][nt] = sums.v[mt][nt + PART * (NN / column_parts)];
  }
  return result;
}

constexpr int wave_cols = wave_n / column_parts;  // columns of the output

}  // namespace gemm

extern "C" __global__ __launch_bounds__(cfg::threads) void grouped_gemm_main(Params p) {
  __shared__ alignas(16) char lds[gemm::lds_bytes];
  using namespace gemm;
  constexpr int cols = bn / column_parts;
  const int tiles_n_all = (p.n + cols - 1) / cols;
  const int id = static_cast<int>(blockIdx.x), part = static_cast<int>(blockIdx.y);
  // Neighbouring blocks share rows of X, or columns of one expert's W.
  const int slot = cfg::slots_first != 0 ? id % p.slots : id / tiles_n_all;
  const int j0 = (cfg::slots_first != 0 ? id / p.slots : id % tiles_n_all) * cols;
  const grouped::Rows rows = grouped::rows_of_slot(p.offsets, p.experts, p.by_row != 0, bm, slot);
  if (rows.begin >= rows.end) return;

  const Source source_x{wt::window(p.x, p.x_bytes), static_cast<u32>(p.x_stride), static_cast<u32>(p.x_chunks)};
  const Source source_w{wt::window(static_cast<const char*>(p.w) + rows.expert * p.w_expert, p.w_bytes),
                        static_cast<u32>(p.w_stride), static_cast<u32>(p.w_chunks)};
  const ScaleSources scale_sources{
      wt::window(p.scale_x, p.scale_x_bytes),
      wt::window(static_cast<const char*>(p.scale_w) + rows.expert * p.scale_w_expert, p.scale_w_expert),
      p.scale_x_stride, p.scale_w_stride, p.scale_blocks};
  // Rows and columns that do not exist repeat the last one; what they give is not stored.
  const auto row_x = [&](int row) {
    const int s = wt::min(rows.begin + row, rows.end - 1);
    return cfg::swiglu != 0 ? p.order[s] / cfg::topk : s;
  };
  const auto row_w = [&](int row) {
    const int in_wave = row % wave_n, col = j0 + row / wave_n * wave_cols + in_wave % wave_cols;
    return in_wave / wave_cols * p.n + wt::min(col, p.n - 1);
  };
  Sums<tiles_m, tiles_n> sums;
  const int begin = part * p.part, end = wt::min(p.stages_k, begin + p.part);
  if (!sum_stages(sums, source_x, source_w, scale_sources, row_x, row_w, row_x, row_w, begin, end, p.full, lds)) return;

  const int lane = wt::lane();
  const Place in_block = wave_place();
  const Place place{in_block.i0, in_block.j0 / column_parts};
  if constexpr (row_scale_x) {
    const auto* const scale_x = static_cast<const float*>(p.scale_x);
    scale_rows(
        sums, [&](int row) { return scale_x[row_x(row)]; }, [](int) { return 1.0f; }, in_block, lane);
  }
  const auto sorted_row = [&](int row) { return rows.begin + row; };
  if constexpr (cfg::split_k > 1) {
    const i64 pitch = static_cast<i64>(column_parts) * p.n;
    float* const first = p.partial + (static_cast<i64>(part) * p.pairs + rows.begin) * pitch + j0;
    const auto row_at = [&](int row) {
      return sorted_row(row) < rows.end ? static_cast<u32>(row * pitch * 4) : wt::outside;
    };
    repeat<column_parts>([&](auto index) {
      constexpr int which = decltype(index)::value;
      const Target<float> target{wt::window(first + which * p.n, (rows.end - rows.begin) * pitch * 4), p.n - j0,
                                 p.n % 4 == 0};
      store_runs(part_of<which>(sums), target, row_at, place, lane);
    });
    return;
  }
  const Target<Out> target{wt::window(p.out + j0, p.out_bytes - j0 * static_cast<i64>(sizeof(Out))), p.n - j0,
                           p.in_runs != 0};
  const auto row_at = [&](int row) {
    const int s = sorted_row(row);
    if (s >= rows.end) return wt::outside;
    return static_cast<u32>((cfg::swiglu != 0 ? s : p.order[s]) * p.out_stride * static_cast<i64>(sizeof(Out)));
  };
  const auto store = [&](const auto& result) {
    if constexpr (cfg::epilogue == 1) {
      __syncthreads();  // all waves have read the last stage
      store_rows(result, target, row_at, place, lane,
                 reinterpret_cast<Out*>(lds) + wt::wave() * tile * (wave_n + turn_pad));
    } else {
      store_runs(result, target, row_at, place, lane);
    }
  };
  if constexpr (cfg::swiglu != 0) {
    store(activate(sums));
  } else {
    store(sums);
  }
}

extern "C" __global__ __launch_bounds__(256) void grouped_gemm_reduce(Params p) {
  using namespace gemm;
  constexpr int run = 8;  // neighbouring elements of a thread
  const i64 size = static_cast<i64>(p.pairs) * p.n;
  const i64 first = (static_cast<i64>(blockIdx.x) * 256 + threadIdx.x) * run;
  for (i64 e = first; e < wt::min(size, first + run); ++e) {
    const int s = static_cast<int>(e / p.n), col = static_cast<int>(e % p.n);
    float sums[column_parts] = {};
    for (int part = 0; part < p.parts; ++part) {
      const float* from = p.partial + (static_cast<i64>(part) * p.pairs + s) * (column_parts * p.n) + col;
      WT_UNROLL
      for (int c = 0; c < column_parts; ++c) sums[c] += from[c * p.n];
    }
    const float value = column_parts == 2 ? grouped::swiglu(sums[0], sums[column_parts - 1]) : sums[0];
    p.out[(cfg::swiglu != 0 ? s : p.order[s]) * p.out_stride + col] = wt::cast<Out>(value);
  }
}
