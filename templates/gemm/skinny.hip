// The skinny path: few rows of X, bound by the bytes of W. Every fragment of W goes from memory straight to the
// registers of the one wave that needs it, several stages ahead; the waves of a block share its columns (cfg::wn) and
// take turns along k (cfg::wk).
//
// cfg: wn, wk, stages (in flight).
namespace gemm {

constexpr int wave_m = bm, wave_n = bn / cfg::wn;
constexpr int tiles_m = wave_m / tile, tiles_n = wave_n / tile;
constexpr int sum_floats = tiles_m * tiles_n * tile * tile;  // of a wave
constexpr int lds_bytes = cfg::wk > 1 ? (cfg::wk - 1) * cfg::wn* sum_floats * 4 : 16;

__device__ inline Place wave_place() { return {0, wt::wave() % cfg::wn * wave_n}; }

/// The fragments of one operand's row tiles, read from memory.
template <class L, int TILES>
struct Direct {
  using Stage = Fragment<L>[steps][TILES];
  u32 lane_offset[TILES];
  int lane_chunk;

  template <class RowOf>
  __device__ inline Direct(const Source& source, int first_tile, const RowOf& row_of) {
    const int lane = wt::lane();
    lane_chunk = L::lane_position(lane / tile);
    WT_UNROLL
    for (int i = 0; i < TILES; ++i) {
      lane_offset[i] =
          row_offset<L>(source, row_of((first_tile + i) * tile + lane % tile)) + lane_chunk * chunk_bytes<L>;
    }
  }
  /// TAIL: rows end at chunk `end_chunk`, before or within the stage; zeros from there on.
  template <bool TAIL>
  __device__ inline void load(const Source& source, int first_chunk, u32 end_chunk, Stage& to) const {
    WT_UNROLL
    for (int s = 0; s < steps; ++s) {
      WT_UNROLL
      for (int c = 0; c < L::chunks; ++c) {
        const int position = first_chunk + s * L::step_chunks + L::position(c);
        WT_UNROLL
        for (int i = 0; i < TILES; ++i) {
          const u32 at = TAIL ? within(lane_offset[i], position + lane_chunk, end_chunk) : lane_offset[i];
          to[s][i].c[c] = wt::load_chunk(source.window, at, position * chunk_bytes<L>);
        }
      }
    }
  }
};

/// Adds stages [begin, end) of k, of which those before `full` lie wholly within k. The sources' windows begin at k =
/// 0; the row functions map a row of the block's tile to a row of the window. Returns whether this wave's sums are
/// complete: the first ones of k's turns.
template <class RowX, class RowW, class ScaleRowX, class ScaleRowW>
__device__ inline bool sum_stages(Sums<tiles_m, tiles_n>& sums, const Source& source_x, const Source& source_w,
                                  const ScaleSources& scale_sources, const RowX& row_x, const RowW& row_w,
                                  const ScaleRowX& scale_row_x, const ScaleRowW& scale_row_w, int begin, int end,
                                  int full, char* lds) {
  constexpr int chunks_x_stage = LayoutX::row_bytes / 16, chunks_w_stage = LayoutW::row_bytes / 16;
  using DirectX = Direct<LayoutX, tiles_m>;
  using DirectW = Direct<LayoutW, tiles_n>;
  using WaveScales = Scales<tiles_m, tiles_n>;
  const int turn = wt::wave() / cfg::wn, first_tile = wt::wave() % cfg::wn * tiles_n;
  const DirectX x(source_x, 0, row_x);
  const DirectW w(source_w, first_tile, row_w);
  const WaveScales scales(scale_sources, 0, first_tile, scale_row_x, scale_row_w);
  typename DirectX::Stage stage_x[cfg::stages];
  typename DirectW::Stage stage_w[cfg::stages];
  typename WaveScales::Raw raw[cfg::stages];

  // Also a part of k ends like k does: with zeros.
  const u32 end_x = wt::min(source_x.row_chunks, static_cast<u32>(end) * chunks_x_stage);
  const u32 end_w = wt::min(source_w.row_chunks, static_cast<u32>(end) * chunks_w_stage);
  const int inner_end = wt::min(full, end);
  const auto load = [&](auto slot, int t) {
    constexpr int J = decltype(slot)::value;
    if (t < inner_end) {
      if constexpr (loop_scales) scales.template load<false>(scale_sources, t * steps, raw[J]);
      w.template load<false>(source_w, t * chunks_w_stage, end_w, stage_w[J]);
      x.template load<false>(source_x, t * chunks_x_stage, end_x, stage_x[J]);
    } else {
      if constexpr (loop_scales) scales.template load<true>(scale_sources, t * steps, raw[J]);
      w.template load<true>(source_w, t * chunks_w_stage, end_w, stage_w[J]);
      x.template load<true>(source_x, t * chunks_x_stage, end_x, stage_x[J]);
    }
  };
  repeat<cfg::stages>([&](auto j) { load(j, begin + turn + decltype(j)::value * cfg::wk); });
  for (int t = begin + turn; t < end; t += cfg::stages * cfg::wk) {
    repeat<cfg::stages>([&](auto j) {
      constexpr int J = decltype(j)::value;
      repeat<steps * step_parts>([&](auto part) {
        constexpr int Q = decltype(part)::value, S = Q / step_parts;
        PartX part_x[tiles_m];
        WT_UNROLL
        for (int mt = 0; mt < tiles_m; ++mt) {
          WT_UNROLL
          for (int c = 0; c < part_chunks; ++c) part_x[mt].c[c] = stage_x[J][S][mt].c[Q % step_parts * part_chunks + c];
        }
        const auto w_of = [&](auto column) -> const Fragment<LayoutW>& {
          return stage_w[J][S][decltype(column)::value];
        };
        add_part<Q>(sums, part_x, w_of, StageScales<tiles_m, tiles_n>{scales, raw[J]}, [](auto) {});
      });
      load(j, t + (J + cfg::stages) * cfg::wk);
    });
  }
  if constexpr (cfg::wk == 1) return true;

  // The turns' sums are added in order by the first one's waves.
  float* const own = reinterpret_cast<float*>(lds) + wt::wave() % cfg::wn * sum_floats + wt::lane() * (sum_floats / 64);
  constexpr int pitch = cfg::wn * sum_floats;
  constexpr int lane_floats = tile * tile / 64;
  if (turn > 0) {
    WT_UNROLL
    for (int i = 0; i < tiles_m * tiles_n; ++i) {
      WT_UNROLL
      for (int e = 0; e < lane_floats; ++e)
        own[(turn - 1) * pitch + i * lane_floats + e] = sums.v[i / tiles_n][i % tiles_n][e];
    }
  }
  __syncthreads();
  if (turn > 0) return false;
  for (int from = 0; from < cfg::wk - 1; ++from) {
    WT_UNROLL
    for (int i = 0; i < tiles_m * tiles_n; ++i) {
      WT_UNROLL
      for (int e = 0; e < lane_floats; ++e)
        sums.v[i / tiles_n][i % tiles_n][e] += own[from * pitch + i * lane_floats + e];
    }
  }
  return true;
}

}  // namespace gemm
