// The operands of the matrix paths: X[m, k] (activations) and W[n, k] (weights, perhaps shuffled), seen as 16-byte
// chunks.
//
// cfg: format_x, format_w (16 bf16, 0 fp8, 4 fp4), mfma (rows of an instruction), bm, bn, bk, shuffled.
namespace gemm {

using wt::chunk;
using wt::i64;
using wt::u32;

constexpr int bf16 = 16;
constexpr int tile = cfg::mfma;    // rows of X and of W that one instruction takes
constexpr int groups = 64 / tile;  // lanes that share a row
constexpr int bm = cfg::bm, bn = cfg::bn, bk = cfg::bk;

constexpr int bits_of(int format) { return format == bf16 ? 16 : format == wt::fp4 ? 4 : 8; }
constexpr int bits_x = bits_of(cfg::format_x), bits_w = bits_of(cfg::format_w);

/// k elements of one step: one instruction, or as many as it takes to use up a chunk of the narrower operand.
constexpr int step_k = (cfg::format_x == bf16 && cfg::format_w == bf16 ? 8 : 32) * groups;
constexpr int chunks_x = step_k * bits_x / 128 / groups, chunks_w = step_k * bits_w / 128 / groups;
constexpr int steps = bk / step_k;

/// One operand. A row's chunk `position` (16 bytes each, from k = 0) of chunk c of step s in lane group g is
/// s * groups * chunks + (spread ? g * chunks + c : c * groups + g): four bf16 instructions share one chunk of fp4,
/// whose 32 elements are neighbours in k, so the bf16 chunks of a group have to be neighbours too.
template <int Bits, int Chunks, bool Shuffled>
struct Layout {
  static constexpr int chunks = Chunks;
  static constexpr bool shuffled = Shuffled;
  static constexpr bool spread = Chunks == 4;
  static constexpr int step_chunks = groups * Chunks;  // chunks of a row in one step
  static constexpr int row_bytes = bk * Bits / 8;      // of one stage
  /// Position within a step, without the lane's part and the lane's part alone.
  static __device__ constexpr int position(int c) { return spread ? c : c * groups; }
  static __device__ constexpr int lane_position(int g) { return spread ? g * Chunks : g; }
};
using LayoutX = Layout<bits_x, chunks_x, false>;
using LayoutW = Layout<bits_w, chunks_w, cfg::shuffled != 0>;

/// Rows of an operand in memory: a window and how to find a row in it.
struct Source {
  wt::window window;
  u32 stride;      // bytes from row to row; shuffled: bytes of 16 rows
  u32 row_chunks;  // chunks of a row, k's end
};

/// Offset of a row's chunk 0 from the window's start.
template <class L>
__device__ inline u32 row_offset(const Source& s, int row) {
  if constexpr (L::shuffled) return (row / 16) * s.stride + (row % 16) * 16;
  return row * s.stride;
}
/// Bytes between neighbouring chunks of a row.
template <class L>
constexpr int chunk_bytes = L::shuffled ? 256 : 16;

/// `offset` when the row has a chunk at `position`, else one outside the window.
__device__ inline u32 within(u32 offset, int position, u32 row_chunks) {
  return static_cast<u32>(position) < row_chunks ? offset : wt::outside;
}

/// Calls f(constant<0>), f(constant<1>), ...: loops whose counter is needed at compile time.
template <int N>
struct constant {
  static constexpr int value = N;
};
template <int N, int I = 0, class F>
__device__ inline void repeat(const F& f) {
  if constexpr (I < N) {
    f(constant<I>{});
    repeat<N, I + 1>(f);
  }
}

}  // namespace gemm
