// The scales that a stage of k needs while it is multiplied: e8m0 of 32 elements (mx), or floats of 128 (groups).
//
// mx scales of both operands come in units of 32 rows x 8 blocks of 32 elements of k, 64 words each (arrange_scales in
// templates/gemm/arrange.h): word (block % 4) * 16 + row % 16, byte block / 4 * 2 + row / 16. So one load gives a lane
// its codes for two row tiles and two steps of 16x16x128 instructions. Group scales: X [k / 128, m] floats, W [n / 128,
// k / 128] floats.
namespace gemm {

constexpr bool loop_scales = mx_x || mx_w || group_scales;

struct ScaleSources {
  wt::window x, w;
  int x_stride,
      w_stride;  // mx: bytes from 32 rows to the next 32; groups: bytes from group to group (of k; of rows of W)
  int blocks;    // of 32 or 128 elements in k
};

/// Codes of one operand's TILES row tiles. PAIRED: tiles 2 i and 2 i + 1 have the rows of one unit.
template <int TILES, bool PAIRED>
struct MxScales {
  // With 16 rows and an even place in the stage the byte is known to the compiler; else it is shifted down.
  static constexpr bool pairs = tile == 16 && PAIRED, whole_units = tile == 16 && steps % 2 == 0;
  static constexpr int words = pairs ? TILES / 2 : TILES, step_words = whole_units ? steps / 2 : steps;
  struct Raw {
    u32 w[words][step_words];
  };
  u32 at[words];
  u32 shift[words];  // of the row's byte

  template <class Row>
  __device__ inline void place(int stride, int first_tile, const Row& row_of) {
    WT_UNROLL
    for (int i = 0; i < words; ++i) {
      const int row = row_of((first_tile + (pairs ? 2 * i : i)) * tile + wt::lane() % tile);
      at[i] = row / 32 * stride + row % 16 * 4;
      shift[i] = pairs ? 0 : row % 32 / 16 * 8;
    }
  }
  template <bool TAIL>
  __device__ inline void load(const wt::window& from, int first_step, int blocks, Raw& raw) const {
    WT_UNROLL
    for (int s = 0; s < step_words; ++s) {
      const int block = (first_step + (whole_units ? 2 * s : s)) * groups;
      const int unit = TAIL ? wt::min(block / 8, (blocks - 1) / 8) : block / 8;
      const u32 in_unit = (block % 8 + wt::lane() / tile) % 4 * 64;
      WT_UNROLL
      for (int i = 0; i < words; ++i) {
        const u32 word = wt::load_word(from, at[i] + in_unit, unit * 256);
        raw.w[i][s] = whole_units ? word : word >> (block % 8 / 4 * 16);
      }
    }
  }
  template <int S, int T>
  static constexpr int sel() {
    return (whole_units ? S % 2 * 2 : 0) + (pairs ? T % 2 : 0);
  }
  /// A word whose byte sel<S, T>() is the lane's code.
  template <int S, int T>
  __device__ inline u32 word(const Raw& raw) const {
    const u32 w = raw.w[pairs ? T / 2 : T][whole_units ? S / 2 : S];
    return pairs ? w : w >> shift[T];
  }
};

/// Columns of a wave come in column_parts runs of W's rows (gate and up of SwiGLU).
constexpr int column_parts = cfg::column_parts;

template <int NM, int NN>
struct Scales {
  static constexpr int group_steps = 128 / step_k;  // steps that share a group's scales
  static constexpr int part_tiles = NN / column_parts;

  using MxX = MxScales<NM, cfg::gathered == 0 && NM % 2 == 0>;
  using MxW = MxScales<NN, part_tiles % 2 == 0>;
  struct Raw {
    typename MxX::Raw mx_x;
    typename MxW::Raw mx_w;
    float x[group_scales ? NM : 1][steps], w[column_parts][steps];
  };
  MxX x;
  MxW w;
  u32 group_x[NM], group_w[column_parts];

  /// `sources` begin at row 0 of the operands; the row functions map a row of the block's tile to a row of the operand.
  template <class RowX, class RowW>
  __device__ inline Scales(const ScaleSources& s, int tile_m, int tile_n, const RowX& row_x, const RowW& row_w) {
    if constexpr (mx_x) x.place(s.x_stride, tile_m, row_x);
    if constexpr (mx_w) w.place(s.w_stride, tile_n, row_w);
    if constexpr (group_scales) {
      WT_UNROLL
      for (int mt = 0; mt < NM; ++mt) group_x[mt] = row_x((tile_m + mt) * tile + wt::lane() % tile) * 4;
      WT_UNROLL
      for (int part = 0; part < column_parts; ++part) {
        group_w[part] = row_w((tile_n + part * part_tiles) * tile) / 128 * s.w_stride;
      }
    }
  }

  /// Loads the scales of the stage that begins at step `first`, counted from k = 0. TAIL: k may end within it.
  template <bool TAIL>
  __device__ inline void load(const ScaleSources& s, int first, Raw& raw) const {
    if constexpr (mx_x) x.template load<TAIL>(s.x, first, s.blocks, raw.mx_x);
    if constexpr (mx_w) w.template load<TAIL>(s.w, first, s.blocks, raw.mx_w);
    if constexpr (group_scales) {
      WT_UNROLL
      for (int i = 0; i < steps; ++i) {
        const int group = TAIL ? wt::min((first + i) / group_steps, s.blocks - 1) : (first + i) / group_steps;
        // A run of a wave's columns lies in one group of 128 rows of W (templates/gemm/matrix.cpp).
        WT_UNROLL
        for (int part = 0; part < column_parts; ++part) {
          raw.w[part][i] = __builtin_bit_cast(float, wt::load_word(s.w, group_w[part], group * 4));
        }
        WT_UNROLL
        for (int mt = 0; mt < NM; ++mt)
          raw.x[mt][i] = __builtin_bit_cast(float, wt::load_word(s.x, group_x[mt], group * s.x_stride));
      }
    }
  }
};

/// What add_step asks for: the scales of one stage.
template <int NM, int NN>
struct StageScales {
  const Scales<NM, NN>& scales;
  const typename Scales<NM, NN>::Raw& raw;

  template <int S, int T>
  static constexpr int sel_x() {
    return Scales<NM, NN>::MxX::template sel<S, T>();
  }
  template <int S, int T>
  static constexpr int sel_w() {
    return Scales<NM, NN>::MxW::template sel<S, T>();
  }
  template <int S, int T>
  __device__ inline u32 word_x() const {
    if constexpr (mx_x) return scales.x.template word<S, T>(raw.mx_x);
    return 0;
  }
  template <int S, int T>
  __device__ inline u32 word_w() const {
    if constexpr (mx_w) return scales.w.template word<S, T>(raw.mx_w);
    return 0;
  }
  /// A float whose exponent field is the code: what the conversion instructions take.
  template <int S, int T>
  __device__ inline float factor_w() const {
    return __builtin_bit_cast(float, word_w<S, T>() >> (8 * sel_w<S, T>()) << 23 & 0x7F800000u);
  }
  template <int S, int MT, int NT>
  __device__ inline float factor() const {
    return raw.x[MT][S] * raw.w[NT / Scales<NM, NN>::part_tiles][S];
  }
};

}  // namespace gemm
