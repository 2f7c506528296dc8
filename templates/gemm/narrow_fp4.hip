// Path narrow with W in fp4: a wave's 16 rows come from LDS as ldmatrix hands them out, a word of eight numbers of each
// block of 32 to each lane, and are unpacked into the registers of the instruction's A.
namespace narrow {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// The fp4 numbers P and P + 4 of `w` as two bf16, times 2^-126: sign and magnitude moved to where a bf16 has them.
template <int P>
__device__ inline u32 pair_of_fp4(u32 w) {
  constexpr int up = 6 - 4 * P;
  const u32 sign = P == 3 ? w : w << (12 - 4 * P);
  const u32 magnitude = up >= 0 ? w << (up >= 0 ? up : 0) : w >> (up >= 0 ? 0 : -up);
  return (sign & 0x80008000u) | (magnitude & 0x01C001C0u);
}

/// Eight fp4 numbers as fp8, times 2^-6: the even and the odd ones.
__device__ inline void fp8_of_fp4(u32 w, u32& even, u32& odd) {
  even = (w << 4 & 0x80808080u) | (w << 2 & 0x1C1C1C1Cu);
  odd = (w & 0x80808080u) | (w >> 2 & 0x1C1C1C1Cu);
}

/// A lane's two rows of a warpgroup's 64, of one step: eight blocks of 32.
struct RowsOfW {
  u32 words, scales[2], shift;
  /// `w` is where the warpgroup's rows begin, `scale` where their scales do.
  __device__ inline RowsOfW(u32 w, u32 scale) {
    const int lane = wt::lane(), wave = static_cast<int>(threadIdx.x) / 32 % 4;
    const int row = wave * 16 + lane % 16;
    words = w + static_cast<u32>(row * row_bytes);
    // Runs of column parts lie one behind the other, as their units of scales do: row r's is unit r / 32.
    const u32 unit = scale + static_cast<u32>(wave / 2 * unit_bytes);
    scales[0] = unit + static_cast<u32>(lane / 4 * 4);
    scales[1] = scales[0] + 32;
    shift = static_cast<u32>(wave % 2 * 8);
  }
  /// Words of blocks 2 p and 2 p + 1: [block][row, 8 rows below].
  __device__ inline void load(u32 (&to)[4], int p) const {
    const int lane = wt::lane();
    wt::ldmatrix_x4(to, words + static_cast<u32>((2 * p + lane / 16) ^ lane % 8) * 16);
  }
  /// Scales of blocks c and c + 4 of row h: bytes 0 and 2 (above, other rows').
  __device__ inline u32 scale_word(int c, int h) const {
    return wt::load_lds_word(scales[h] + static_cast<u32>(c * 64)) >> shift;
  }
};

/// A step of bf16 x fp4. Sums are 2^-64 of what they stand for. `x`: descriptor of the step's X.
__device__ inline void add_step_widened(float (&sum)[sums], const RowsOfW& rows, u64 x) {
  u32 codes[4][2];
  WT_UNROLL
  for (int c = 0; c < 4; ++c) {
    WT_UNROLL
    for (int h = 0; h < 2; ++h) codes[c][h] = rows.scale_word(c, h);
  }
  u32 a[2][4][4];
  WT_UNROLL
  for (int p = 0; p < 4; ++p) {
    u32 raw[4];
    rows.load(raw, p);
    WT_UNROLL
    for (int b = 0; b < 2; ++b) {
      const int block = 2 * p + b;
      WT_UNROLL
      for (int h = 0; h < 2; ++h) {
        // The bf16 2^62 times the scale, twice: exponent field code + 62.
        const u32 code = __byte_perm(codes[block % 4][h], 0, block < 4 ? 0x4040 : 0x4242);
        const u32 factor = code * 128u + 0x1F001F00u, w = raw[b * 2 + h];
        a[p % 2][b * 2][h] = wt::mul_bf16x2(pair_of_fp4<0>(w), factor);
        a[p % 2][b * 2][2 + h] = wt::mul_bf16x2(pair_of_fp4<1>(w), factor);
        a[p % 2][b * 2 + 1][h] = wt::mul_bf16x2(pair_of_fp4<2>(w), factor);
        a[p % 2][b * 2 + 1][2 + h] = wt::mul_bf16x2(pair_of_fp4<3>(w), factor);
      }
    }
    wt::wgmma_fence();
    WT_UNROLL
    for (int i = 0; i < 4; ++i)
      wt::wgmma<bm>::bf16(sum, a[p % 2][i], x + static_cast<u64>(p * (x_run_bytes / 16) + i * 2), 1);
    wt::wgmma_commit();
    wt::wgmma_wait<1>();
  }
}

/// Blocks of 32 whose sums wait for their scales at a time.
constexpr int blocks_at_once = bm <= 8 ? 4 : bm <= 16 ? 2 : 1;

/// A step of fp8 x fp4. Sums are 2^-6 of what they stand for. While some blocks are multiplied, the next are unpacked.
__device__ inline void add_step_blocks(float (&sum)[sums], const RowsOfW& rows, u64 x) {
  constexpr int rounds = 8 / blocks_at_once;
  u32 codes[4][2];
  WT_UNROLL
  for (int c = 0; c < 4; ++c) {
    WT_UNROLL
    for (int h = 0; h < 2; ++h) codes[c][h] = rows.scale_word(c, h);
  }
  u32 raw[4], a[2][blocks_at_once][4];
  float d[2][blocks_at_once][sums];
  const auto add = [&](int round) {
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      const int block = round * blocks_at_once + b;
      float factor[2];
      WT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const u32 word = codes[block % 4][h];
        factor[h] = __uint_as_float((block < 4 ? word << 23 : word << 7) & 0x7F800000u);
      }
      WT_UNROLL
      for (int i = 0; i < sums; ++i) {
        wt::wgmma_hold(d[round % 2][b][i]);
        sum[i] = wt::fma(d[round % 2][b][i], factor[i % 4 / 2], sum[i]);
      }
    }
  };
  WT_UNROLL
  for (int round = 0; round < rounds; ++round) {
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      const int block = round * blocks_at_once + b;
      if (block % 2 == 0) rows.load(raw, block / 2);
      WT_UNROLL
      for (int h = 0; h < 2; ++h)
        fp8_of_fp4(raw[block % 2 * 2 + h], a[round % 2][b][h], a[round % 2][b][2 + h]);
    }
    wt::wgmma_fence();
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      const int block = round * blocks_at_once + b;
      wt::wgmma<bm>::e4m3(d[round % 2][b], a[round % 2][b],
                          x + static_cast<u64>(block / 4 * (x_run_bytes / 16) + block % 4 * 2), 0);
    }
    wt::wgmma_commit();
    if (round > 0) {
      wt::wgmma_wait<1>();
      add(round - 1);
    }
  }
  wt::wgmma_wait<0>();
  add(rounds - 1);
}

#endif

}  // namespace narrow
