// fp8 x fp4 on the stream path, with the matrix instructions of warpgroups (sm_90a): fp4 becomes fp8 in the registers
// of the instruction's A, which takes seven operations for eight numbers. All of X's part of k lies in LDS as B.
//
// Four neighbouring waves (wn is a multiple of four) have rows of W of their own and the same k.
namespace stream {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// D = A B on 64 x N x 32 of e4m3: A 16 rows of each of four waves, in registers as those of mma_e4m3, B N rows in LDS
/// (wt::wgmma_operand). Layout of D in each wave as that of mma_e4m3, for each eight of N.
template <int N>
struct multiply_fp8;
template <>
struct multiply_fp8<8> {
  static __device__ __forceinline__ void run(float (&d)[4], const u32 (&a)[4], u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 "
        "{%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, %8, 0, 1, 1;"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};
template <>
struct multiply_fp8<16> {
  static __device__ __forceinline__ void run(float (&d)[8], const u32 (&a)[4], u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, %12, 0, 1, 1;"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};
template <>
struct multiply_fp8<32> {
  static __device__ __forceinline__ void run(float (&d)[16], const u32 (&a)[4], u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "{%16, %17, %18, %19}, %20, 0, 1, 1;"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
          "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};
template <>
struct multiply_fp8<64> {
  static __device__ __forceinline__ void run(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 0, 1, 1;"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
          "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]),
          "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]),
          "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

#endif

/// LDS of X: [step][eight rows][row][chunk of 16 k], chunk c of row r at c ^ r % 8.
constexpr int x_step_bytes = bm * 128;

/// Rows of X, `count` steps from step `first` on, to LDS. The instruction's k is not W's: lane q's word of a block has
/// numbers 8 q to 8 q + 7, the even ones of which are its four of the block's first half, the odd ones of the second.
/// So even and odd numbers of X's blocks of 32 are parted.
template <class S>
__device__ inline void fetch_x(const S& source, u32 lds, int first, int count) {
  const int row_blocks = count * 4;
  for (int i = wt::flat_thread(); i < bm * row_blocks; i += cfg::threads) {
    const int row = i / row_blocks, block = i % row_blocks, position = (first * 4 + block) * 2;
    const char* const from = source.row_x(row);
    if (from == nullptr) continue;  // columns of D that nobody reads
    const chunk* const chunks = reinterpret_cast<const chunk*>(from);
    chunk low{}, high{};
    if (position < source.x_chunks) low = chunks[position];
    if (position + 1 < source.x_chunks) high = chunks[position + 1];
    const u32 words[8] = {low.w[0], low.w[1], low.w[2], low.w[3], high.w[0], high.w[1], high.w[2], high.w[3]};
    chunk even, odd;
    WT_UNROLL
    for (int e = 0; e < 4; ++e) {
      even.w[e] = __byte_perm(words[2 * e], words[2 * e + 1], 0x6420);
      odd.w[e] = __byte_perm(words[2 * e], words[2 * e + 1], 0x7531);
    }
    const u32 to = lds + block / 4 * x_step_bytes + row / 8 * 1024 + row % 8 * 128;
    const u32 c = block % 4 * 2;
    wt::store_lds(to + (c ^ row % 8) * 16, even);
    wt::store_lds(to + ((c + 1) ^ row % 8) * 16, odd);
  }
}

/// Eight fp4 numbers as fp8, times 2^-6: the even and the odd ones.
__device__ inline void fp8_of_fp4(u32 w, u32& even, u32& odd) {
  even = (w << 4 & 0x80808080u) | (w << 2 & 0x1C1C1C1Cu);
  odd = (w & 0x80808080u) | (w >> 2 & 0x1C1C1C1Cu);
}

/// Scales of a unit of 256 k: words for each block of four and each eight of 16 rows.
struct UnitScales {
  u32 words[units_n][2][4];
  __device__ inline UnitScales(u32 scale_at, int unit) {
    WT_UNROLL
    for (int i = 0; i < units_n; ++i) {
      WT_UNROLL
      for (int h = 0; h < 2; ++h) {
        WT_UNROLL
        for (int block = 0; block < 4; ++block)
          words[i][h][block] =
              load_lds_word(scale_at + (i * units_k + unit) * 256 + (block * 16 + h * 8 + wt::lane() / 4) * 4);
      }
    }
  }
  /// Of eight rows j, in the unit's first or second step.
  __device__ inline float factor(int j, int block, int step, int half) const {
    const u32 word = words[j * 8 / unit_rows][j % 2][block];
    const int byte = step % 2 * 2 + (rows_w % 32 == 0 ? j / 2 % 2 : half);
    return __builtin_bit_cast(float, (word >> (8 * byte) & 0xFFu) << 23);
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// Blocks of 32 whose sums wait for their scales at a time.
constexpr int blocks_at_once = bm * tiles_n <= 16 ? 4 : bm * tiles_n <= 32 ? 2 : 1;

__device__ inline void add_step_fp4(Sums& sums, u32 x_at, u32 w_at, const UnitScales& scales, int half, int step) {
  const int lane = wt::lane();
  u32 raw[2 * tiles_n][4];
  WT_UNROLL
  for (int j = 0; j < 2 * tiles_n; ++j) {
    wt::ldmatrix_x4(raw[j], w_at + (j * steps + step) * 512 + lane / 8 * 128 + (lane % 8 ^ lane / 8 * 2) * 16);
  }
  WT_UNROLL
  for (int first = 0; first < 4; first += blocks_at_once) {
    u32 a[blocks_at_once][tiles_n][4];
    float d[blocks_at_once][tiles_n][bm / 2];
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      WT_UNROLL
      for (int r = 0; r < tiles_n; ++r) {
        fp8_of_fp4(raw[2 * r][first + b], a[b][r][0], a[b][r][2]);
        fp8_of_fp4(raw[2 * r + 1][first + b], a[b][r][1], a[b][r][3]);
      }
    }
    wt::wgmma_fence();
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      WT_UNROLL
      for (int r = 0; r < tiles_n; ++r)
        multiply_fp8<bm>::run(d[b][r], a[b][r], wt::wgmma_operand(x_at + (first + b) * 32));
    }
    wt::wgmma_commit();
    wt::wgmma_wait<0>();
    WT_UNROLL
    for (int b = 0; b < blocks_at_once; ++b) {
      WT_UNROLL
      for (int r = 0; r < tiles_n; ++r) {
        WT_UNROLL
        for (int i = 0; i < bm / 2; ++i) {
          wt::wgmma_hold(d[b][r][i]);
          sums.v[r][i / 4][i % 4] += d[b][r][i] * scales.factor(2 * r + i % 4 / 2, first + b, step, half);
        }
      }
    }
  }
}

/// All of the stage in `slot`; its X begins at `x_at`.
__device__ inline void add_stage_fp4(Sums& sums, const Ring& ring, u32 slot, u32 x_at, int half) {
  WT_UNROLL
  for (int unit = 0; unit < units_k; ++unit) {
    const UnitScales scales(ring.w_scale + slot, unit);
    WT_UNROLL
    for (int step = 2 * unit; step < 2 * unit + 2; ++step)
      add_step_fp4(sums, x_at + step * x_step_bytes, ring.w + slot, scales, half, step);
  }
}

#endif

}  // namespace stream
