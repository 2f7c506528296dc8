// The stream path on NVIDIA: few rows of X, bound by the bytes of W.
//
// W's rows are the instruction's 16-row operand and X's its 8-column one, so that few tokens waste little. Every wave
// copies the 16-byte chunks of W that it multiplies into a ring of its own in LDS (cp.async), so that many reads are on
// their way without registers or barriers of the block. A chunk feeds whole instructions: the order of k within a step
// is free as long as X has the same. X goes through the same ring, shared by the waves that work on the same k.
//
// cfg: format_x, format_w (16 bf16, 0 fp8, 4 fp4), scale_x, scale_w (templates/gemm/matrix.h), out_dtype, bm, bn, bk
// (k of one turn's stage), stages, wn (waves side by side along W's rows), wk (turns: waves that share k's stages),
// split_k (blocks that share k), shuffled, column_parts, overlap, threads.
namespace stream {

using wt::chunk;
using wt::i64;
using wt::u32;
using wt::u64;

constexpr int bits_of(int format) { return format == 16 ? 16 : format == wt::fp4 ? 4 : 8; }
constexpr int bits_x = bits_of(cfg::format_x), bits_w = bits_of(cfg::format_w);
constexpr bool bf16_x = bits_x == 16;
constexpr bool mx = bits_w == 4;
constexpr bool widens = mx && bf16_x;   // fp4 becomes bf16 and is scaled at once
constexpr bool blocks = mx && !bf16_x;  // fp4 becomes fp8; the sums of 32 products are scaled (stream_fp4.hip)
constexpr bool groups = cfg::scale_x == 1;
constexpr bool row_scales_x = cfg::scale_x == 3, row_scales_w = cfg::scale_w == 3;
constexpr bool shuffled = cfg::shuffled != 0;

constexpr int bm = cfg::bm, bn = cfg::bn, wn = cfg::wn, wk = cfg::wk, stages = cfg::stages;
constexpr int step_k = 512 / bits_w;  // 64 bytes of a row of W: a chunk for each of four lanes
constexpr int steps = cfg::bk / step_k;
constexpr int step_chunks_x = step_k * bits_x / 128;
constexpr int rows_w = bn / wn;  // of a wave
constexpr int tiles_n = rows_w / 16, tiles_m = bm / 8;
constexpr int column_parts = cfg::column_parts;  // runs of W's rows in a block's tile (gate and up of SwiGLU)
constexpr int part_rows = bn / column_parts;

// LDS: [stage][turn]{X, [wave]{W, its mx scales}}; at the end the sums [turn][row of X][row of W] in its
// place; then scales of whole rows, and which rows of X are gathered; for blocks then all of X that the
// block takes, for groups all of the scales.
constexpr int x_bytes = blocks ? 0 : steps * step_chunks_x * bm * 16;
constexpr int group_count = groups ? cfg::bk / 128 : 0;
constexpr int group_floats = bm + wn;  // scales of a group of k: of rows of X, and of waves side by side
constexpr int w_bytes = 2 * tiles_n * steps * 512;
constexpr int unit_rows = rows_w < 32 ? rows_w : 32;  // of mx scales: units of 32 rows x 256 k in 256 bytes
constexpr int units_n = rows_w / unit_rows, units_k = (steps + 1) / 2;
constexpr int w_scale_bytes = mx ? units_n * units_k * 256 : 0;
constexpr int wave_bytes = w_bytes + w_scale_bytes;
constexpr int turn_bytes = x_bytes + wn * wave_bytes;
constexpr int stage_bytes = wk * turn_bytes;
constexpr int pitch = bn + 4;  // of sums: lanes of a wave then write to different banks
constexpr int sums_bytes = wk * bm * pitch * 4;
constexpr int ring_bytes = stages * stage_bytes > sums_bytes ? stages * stage_bytes : sums_bytes;
constexpr int rest_place = (ring_bytes + (2 * bm + bn) * 4 + 1023) / 1024 * 1024;  // of blocks' X, of groups' scales

using Out = wt::element<cfg::out_dtype>;

struct Sums {
  float v[tiles_n][tiles_m][4];
};

__device__ inline int turn() { return wt::wave() / wn; }
__device__ inline int first_row() { return wt::wave() % wn * rows_w; }  // of the wave in the block's tile

/// This wave's places in stage 0.
struct Ring {
  u32 x, w, w_scale;
  __device__ inline explicit Ring(u32 base) {
    x = base + turn() * turn_bytes;
    w = x + x_bytes + wt::wave() % wn * wave_bytes;
    w_scale = w + w_bytes;
  }
};

/// Among the waves that share X's stages.
__device__ inline void turn_sync() {
  if constexpr (wn == 1 || blocks) {
    wt::wave_sync();
  } else if constexpr (wk == 1) {
    __syncthreads();
  } else {
    wt::barrier_of(turn() + 1, wn * wt::wave_size);
  }
}

}  // namespace stream
