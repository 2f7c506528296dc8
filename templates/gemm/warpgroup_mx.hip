// Path `warpgroup` with W in fp4: the rows of W of an instruction come from registers, where a thread makes bf16 of
// them.
namespace warpgroup {

/// Byte `q` of `word`, two fp4, as two bf16: 2^-126 of what they stand for.
__device__ inline u32 pair_of_fp4(u32 word, int q) {
  const u32 two = word >> (8 * q) & 0xFFu;
  // The lower nibble in the lower half and the upper nibble in the upper half: magnitudes from bit 6 on, signs at 15.
  return ((two * 0x40040u) & 0x01C001C0u) | ((two * 0x01001000u) & 0x80008000u);
}

/// What a thread needs of half a stage of W for one tile of 64 rows: of its two rows (8 apart) 32 bytes.
struct RowsOfW {
  wt::chunk words[2][2];
  u32 factors[2][2];  // twice the bf16 2^62 times the scale of each 32 k
};

/// Tile i of the worker in the ring's stage.
__device__ inline RowsOfW load_rows(const Ring& ring, const Part& part, int i, int k, int half) {
  RowsOfW rows;
  WT_UNROLL
  for (int h = 0; h < 2; ++h) {
    const int row = part.w0 + i * 64 + part.row + h * 8;
    WT_UNROLL
    for (int x = 0; x < 2; ++x) {
      const int c = half * 2 + x;  // copied in the swizzle of 64 bytes
      rows.words[h][x] =
          wt::load_lds(ring.stage() + stage_x + static_cast<u32>(row * w_row_bytes + (c ^ row / 2 % 4) * 16));
      const u32 unit = ring.stage() + stage_x + stage_w + static_cast<u32>(row / scale_unit_rows * scale_unit_bytes);
      const u32 four = wt::load_lds_word(unit + static_cast<u32>((c * 16 + row % 16) * 4));
      const u32 code = four >> (k % 2 * 16 + row % scale_unit_rows / 16 * 8) & 0xFFu;
      rows.factors[h][x] = (code * 128u + 0x1F00u) * 0x10001u;  // exponent field: code + 62
    }
  }
  return rows;
}

/// The operand of instruction t (16 of k) of half a stage.
__device__ inline void convert(u32 (&a)[4], const RowsOfW& rows, int t) {
  const int q = static_cast<int>(threadIdx.x % 4);
  WT_UNROLL
  for (int x = 0; x < 4; ++x) {
    const int h = x % 2, word = 2 * t + x / 2;
    a[x] = wt::mul_bf16x2(pair_of_fp4(rows.words[h][word / 4].w[word % 4], q), rows.factors[h][t / 2]);
  }
}

/// Sums are 2^-64 of what they stand for until the end. The instructions of half a stage run while the next half's rows
/// of W are converted.
__device__ inline void sum_steps_mx(Sums& sums, Ring& ring, const Part& part, Steps steps) {
  constexpr int instructions = 4;  // of half a stage
  u32 a[2][instructions][tiles][4];
  u32 before = 0;
  for (int k = steps.begin; k < steps.end; ++k, ring.next()) {
    wait_full(ring);
    WT_UNROLL
    for (int half = 0; half < 2; ++half) {
      WT_UNROLL
      for (int i = 0; i < tiles; ++i) {
        const RowsOfW rows = load_rows(ring, part, i, k, half);
        WT_UNROLL
        for (int t = 0; t < instructions; ++t) convert(a[half][t][i], rows, t);
      }
      const u64 x = part.x + ring.slot * (stage_bytes >> 4) + half * (bm * row_bytes / 16);
      wt::wgmma_fence();
      WT_UNROLL
      for (int t = 0; t < instructions; ++t) {
        WT_UNROLL
        for (int i = 0; i < tiles; ++i) {
          wt::wgmma<width>::bf16(sums.v[i], a[half][t][i], x + t * 2, k > steps.begin || half > 0 || t > 0 ? 1 : 0);
        }
      }
      wt::wgmma_commit();
      wt::wgmma_wait<1>();
      if (half == 0 && k > steps.begin) release(before);
    }
    before = ring.empty_barrier();
  }
  wt::wgmma_wait<0>();
  release(before);
  WT_UNROLL
  for (int i = 0; i < tiles; ++i) {
    WT_UNROLL
    for (int j = 0; j < sums_of_tile; ++j) sums.v[i][j] *= 0x1p64f;
  }
}

}  // namespace warpgroup
