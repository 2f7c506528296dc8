// The tile path: a block of waves brings bm rows of X and bn rows of W through a ring of LDS stages and multiplies
// them.
//
// cfg: wm, wn (waves along m and n), stages, direct.
namespace gemm {

constexpr int wave_m = bm / cfg::wm, wave_n = bn / cfg::wn;
constexpr int tiles_m = wave_m / tile, tiles_n = wave_n / tile;

using StageX = Stage<LayoutX, bm>;
using StageW = Stage<LayoutW, bn>;
constexpr int stage_bytes = StageX::bytes + StageW::bytes;
constexpr int ring_bytes = cfg::stages * stage_bytes;
constexpr int turn_bytes = cfg::epilogue == 1 ? waves * tile * (wave_n + turn_pad) * static_cast<int>(sizeof(Out)) : 0;
constexpr int lds_bytes = ring_bytes > turn_bytes ? ring_bytes : turn_bytes;

constexpr int copies = StageX::mine + StageW::mine;
constexpr int products = tiles_m * tiles_n;  // of a wave in one part of a step
constexpr int parts = steps * step_parts;    // of a stage

/// Adds the products of the stage at `lds`. While a part is multiplied the chunks of X of the next one are read, and
/// fragments of W one or two columns ahead; copy(constant<i>) is called for i in [0, copies), evenly spread.
template <class StepScales, class Copy>
__device__ inline void multiply_stage(Sums<tiles_m, tiles_n>& sums, const StepScales& scales, const char* lds,
                                      int wave_tile_m, int wave_tile_n, int lane, const Copy& copy) {
  constexpr int columns = parts * tiles_n;
  constexpr int ahead = widens ? 2 : 1;  // widening happens a column ahead
  PartX x[2][tiles_m];
  Fragment<LayoutW> w[ahead + 1];
  const auto read_x = [&](auto part, auto row) {
    constexpr int Q = decltype(part)::value, mt = decltype(row)::value;
    repeat<part_chunks>([&](auto c) {
      x[Q % 2][mt].c[decltype(c)::value] =
          StageX::template read_chunk<Q / step_parts, Q % step_parts * part_chunks + decltype(c)::value>(
              lds, wave_tile_m + mt, lane);
    });
  };
  const auto read_w = [&](auto column) {
    constexpr int G = decltype(column)::value;
    if constexpr (G < columns) {
      repeat<LayoutW::chunks>([&](auto c) {
        w[G % (ahead + 1)].c[decltype(c)::value] =
            StageW::template read_chunk<G / tiles_n / step_parts, decltype(c)::value>(lds + StageX::bytes,
                                                                                      wave_tile_n + G % tiles_n, lane);
      });
    }
  };
  read_w(constant<0>{});
  repeat<tiles_m>([&](auto row) { read_x(constant<0>{}, row); });
  if constexpr (ahead == 2) read_w(constant<1>{});
  repeat<parts>([&](auto part) {
    constexpr int Q = decltype(part)::value;
    constexpr int reads = Q + 1 < parts ? tiles_m : 0;
    constexpr int first_copy = Q * copies / parts, jobs = reads + (Q + 1) * copies / parts - first_copy;
    const auto w_of = [&](auto column) -> const Fragment<LayoutW>& {
      return w[(Q * tiles_n + decltype(column)::value) % (ahead + 1)];
    };
    add_part<Q>(sums, x[Q % 2], w_of, scales, [&](auto product) {
      constexpr int i = decltype(product)::value, first = i * jobs / products,
                    count = (i + 1) * jobs / products - first;
      if constexpr (i % tiles_m == 0) read_w(constant<Q * tiles_n + i / tiles_m + ahead>{});
      repeat<count>([&](auto job) {
        constexpr int j = first + decltype(job)::value;
        if constexpr (j < reads) {
          read_x(constant<Q + 1>{}, constant<j>{});
        } else {
          copy(constant<first_copy + j - reads>{});
        }
      });
      if constexpr (count > 0 || i % tiles_m == 0) wt::keep_order();
    });
  });
}

/// Where the calling wave's sums begin in the block's tile.
__device__ inline Place wave_place() {
  const int wave = wt::wave();
  return {wave / cfg::wn * wave_m, wave % cfg::wn * wave_n};
}

/// Adds stages [begin, end) of k, of which those before `full` lie wholly within k. The sources' windows begin at k =
/// 0; the row functions map a row of the block's tile to a row of the window. Returns whether this wave's sums are
/// complete.
template <class RowX, class RowW, class ScaleRowX, class ScaleRowW>
__device__ inline bool sum_stages(Sums<tiles_m, tiles_n>& sums, const Source& source_x, const Source& source_w,
                                  const ScaleSources& scale_sources, const RowX& row_x, const RowW& row_w,
                                  const ScaleRowX& scale_row_x, const ScaleRowW& scale_row_w, int begin, int end,
                                  int full, char* lds) {
  const int wave = wt::wave(), lane = wt::lane();
  const int wave_tile_m = wave / cfg::wn * tiles_m, wave_tile_n = wave % cfg::wn * tiles_n;
  const StageX stage_x(source_x, row_x);
  const StageW stage_w(source_w, row_w);
  constexpr int chunks_x_stage = LayoutX::row_bytes / 16, chunks_w_stage = LayoutW::row_bytes / 16;
  using WaveScales = Scales<tiles_m, tiles_n>;
  const WaveScales scales(scale_sources, wave_tile_m, wave_tile_n, scale_row_x, scale_row_w);
  typename WaveScales::Raw raw, next_raw;
  // Stages that lie wholly within k need no look at where their rows end: first all iterations that bring only such,
  // then the others.
  constexpr constant<0> inner;
  constexpr constant<1> tail;
  const auto load_scales = [&](int t, auto tail, typename WaveScales::Raw& to) {
    if constexpr (loop_scales) scales.template load<decltype(tail)::value != 0>(scale_sources, t * steps, to);
  };
  const auto multiply_at = [&](const char* from, const typename WaveScales::Raw& of_stage, const auto& copy) {
    multiply_stage(sums, StageScales<tiles_m, tiles_n>{scales, of_stage}, from, wave_tile_m, wave_tile_n, lane, copy);
  };
  // Runs step(t, tail?, scales of t, where the scales of t + 1 go) for all stages. Copying scales from register to
  // register would wait for their loads, so inner stages come in pairs.
  const auto for_stages = [&](int inner_end, const auto& step) {
    int t = begin;
    if constexpr (loop_scales) {
      for (; t + 1 < inner_end; t += 2) {
        step(t, inner, raw, next_raw);
        step(t + 1, inner, next_raw, raw);
      }
    } else {
      for (; t < inner_end; ++t) step(t, inner, raw, raw);
    }
    for (; t < end; ++t) {
      step(t, tail, raw, next_raw);
      if constexpr (loop_scales) raw = next_raw;
    }
  };
  load_scales(begin, tail, raw);

  if constexpr (cfg::direct == 1) {
    const auto copy = [&](auto index, auto at_end, int t, char* to) {
      constexpr int i = decltype(index)::value;
      if constexpr (i < StageX::mine) {
        stage_x.template copy<i, decltype(at_end)::value != 0>(source_x, t * chunks_x_stage, to);
      } else {
        stage_w.template copy<i - StageX::mine, decltype(at_end)::value != 0>(source_w, t * chunks_w_stage,
                                                                              to + StageX::bytes);
      }
    };
    constexpr int ahead = cfg::stages - 1;
    WT_UNROLL
    for (int s = 0; s < ahead; ++s) {
      repeat<copies>([&](auto i) { copy(i, tail, begin + s, lds + s * stage_bytes); });
    }
    int now = 0, last = ahead * stage_bytes;  // where stage t lies and where the newest one goes
    // Past the end of k zeros are brought, so that the copies in flight are always as many.
    for_stages(wt::min(full - ahead, end), [&](int t, auto at_end, const auto& now_scales, auto& next_scales) {
      wt::wait_copies<(cfg::stages - 2) * copies>();
      wt::barrier_keeping_copies();
      load_scales(t + 1, at_end, next_scales);
      multiply_at(lds + now, now_scales, [&](auto i) { copy(i, at_end, t + ahead, lds + last); });
      last = now;
      now = now == ring_bytes - stage_bytes ? 0 : now + stage_bytes;
    });
    wt::wait_copies<0>();
  } else {
    chunk x[StageX::mine], w[StageW::mine];
    const auto load = [&](int t, auto at_end) {
      stage_x.template load<decltype(at_end)::value != 0>(source_x, t * chunks_x_stage, x);
      stage_w.template load<decltype(at_end)::value != 0>(source_w, t * chunks_w_stage, w);
    };
    const auto write = [&](char* to) {
      stage_x.write(x, to);
      stage_w.write(w, to + StageX::bytes);
    };
    load(begin, tail);
    write(lds);
    int now = 0;
    for_stages(wt::min(full - 1, end), [&](int t, auto at_end, const auto& now_scales, auto& next_scales) {
      const int next = cfg::stages == 1 ? 0 : now == 0 ? stage_bytes : 0;
      wt::barrier_keeping_copies();
      load_scales(t + 1, at_end, next_scales);
      load(t + 1, at_end);
      multiply_at(lds + now, now_scales, [](auto) {});
      if constexpr (cfg::stages == 1) wt::barrier_keeping_copies();
      write(lds + next);
      now = next;
    });
  }
  return true;
}

}  // namespace gemm
