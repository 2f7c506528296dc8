// The sums of a wave and how a step of k is added to them, with the scales of each number format.
//
// Weights are the instruction's first operand, so that a lane holds neighbouring columns of C.
namespace gemm {

/// What multiplies a product. MX scales go into the instruction; group scales are applied to each step's products;
/// scales of whole rows are applied to the finished sums.
constexpr bool mx_x = cfg::scale_x == 2, mx_w = cfg::scale_w == 2;  // e8m0 of 32 elements
constexpr bool group_scales = cfg::scale_x == 1;                    // float of 128 elements of k (and 128 rows of W)
constexpr bool row_scale_x = cfg::scale_x == 3, row_scale_w = cfg::scale_w == 3;
constexpr u32 unit_scale = 0x7F7F7F7Fu;

using acc = typename wt::mma<tile>::acc;

template <class L>
struct Fragment {
  chunk c[L::chunks];
};

/// With bf16 and fp4 a step is multiplied in parts, one for each chunk of X, so that only one part of X is in
/// registers.
constexpr bool widens = cfg::format_x == bf16 && cfg::format_w == wt::fp4;
constexpr int step_parts = widens ? chunks_x : 1;
constexpr int part_chunks = chunks_x / step_parts;
struct PartX {
  chunk c[part_chunks];
};

template <int Chunks>
__device__ inline void pair_of(const chunk (&from)[Chunks], chunk (&to)[2]) {
  to[0] = from[0];
  to[1] = from[Chunks > 1 ? 1 : 0];
}

/// sum + W X^T of one step for one tile. SelX and SelW are the bytes of the words that hold the lane's e8m0 codes (mx
/// only).
template <int SelX, int SelW>
__device__ inline acc multiply(const PartX& x, const Fragment<LayoutW>& w, const acc& sum, u32 word_x, u32 word_w) {
  if constexpr (cfg::format_w == bf16) {
    return wt::mma<tile>::bf16(w.c[0], x.c[0], sum);
  } else {
    chunk cx[2], cw[2];
    pair_of(x.c, cx);
    pair_of(w.c, cw);
    constexpr int byte_w = mx_w ? SelW : 0, byte_x = mx_x ? SelX : 0;
    return wt::mma<tile>::template scaled<cfg::format_w, cfg::format_x, byte_w, byte_x>(
        cw, cx, sum, mx_w ? word_w : unit_scale, mx_x ? word_x : unit_scale);
  }
}

template <int NM, int NN>
struct Sums {
  acc v[NM][NN] = {};
};

/// Adds the products of part Q of a stage (steps times step_parts), column of tiles after column. w_of(constant<nt>) is
/// the fragment of column nt, `scales` gives the step's scales; after product i `side(constant<i>)` runs: reads and
/// copies for later parts, which the matrix core's work hides.
template <int Q, int NM, int NN, class ColumnW, class StepScales, class Side>
__device__ inline void add_part(Sums<NM, NN>& sums, const PartX (&x)[NM], const ColumnW& w_of, const StepScales& scales,
                                const Side& side) {
  constexpr int S = Q / step_parts;
  if constexpr (widens) {
    // Eight fp4 become a chunk of bf16 that serves all row tiles; the next one is widened behind the products of this
    // one.
    const auto widen = [&](auto column) {
      constexpr int nt = decltype(column)::value;
      return wt::cvt_fp4_bf16(w_of(column).c[0].w[Q % step_parts], scales.template factor_w<S, nt>());
    };
    chunk wide = widen(constant<0>{}), next = wide;
    repeat<NN>([&](auto column) {
      constexpr int nt = decltype(column)::value;
      repeat<NM>([&](auto row) {
        constexpr int mt = decltype(row)::value;
        sums.v[mt][nt] = wt::mma<tile>::bf16(wide, x[mt].c[0], sums.v[mt][nt]);
        if constexpr (mt == 0 && nt + 1 < NN) {
          wt::keep_order();
          next = widen(constant<nt + 1>{});
        }
        side(constant<nt * NM + mt>{});
      });
      wide = next;
    });
  } else if constexpr (group_scales) {
    // A product is scaled while the next ones are made.
    constexpr int late = NM * NN > 4 ? 4 : 1;
    acc parts[late + 1];
    repeat<NM * NN + late>([&](auto index) {
      constexpr int i = decltype(index)::value;
      if constexpr (i < NM * NN) {
        parts[i % (late + 1)] = multiply<0, 0>(x[i % NM], w_of(constant<i / NM>{}), acc{}, 0, 0);
        side(index);
      }
      if constexpr (i >= late) {
        constexpr int done = i - late, mt = done % NM, nt = done / NM;
        sums.v[mt][nt] = wt::fma(scales.template factor<S, mt, nt>(), parts[done % (late + 1)], sums.v[mt][nt]);
      }
      wt::keep_order();
    });
  } else {
    repeat<NM * NN>([&](auto index) {
      constexpr int i = decltype(index)::value, mt = i % NM, nt = i / NM;
      sums.v[mt][nt] = multiply<StepScales::template sel_x<S, mt>(), StepScales::template sel_w<S, nt>()>(
          x[mt], w_of(constant<nt>{}), sums.v[mt][nt], scales.template word_x<S, mt>(),
          scales.template word_w<S, nt>());
      side(index);
    });
  }
}

}  // namespace gemm
