// The stream path's products: one step (64 bytes of every row of W) of a stage in the ring.
namespace stream {

/// The fp4 numbers P and P + 4 of `w` as two bf16, times 2^-126: sign and magnitude moved to where a bf16 has them.
template <int P>
__device__ inline u32 pair_of_fp4(u32 w) {
  constexpr int up = 6 - 4 * P;
  const u32 sign = P == 3 ? w : w << (12 - 4 * P);
  const u32 magnitude = up >= 0 ? w << (up >= 0 ? up : 0) : w >> (up >= 0 ? 0 : -up);
  return (sign & 0x80008000u) | (magnitude & 0x01C001C0u);
}

/// Sums of one tile of X and all of W's: `a` are registers of eight rows of W each, `b` those of X's; two of either are
/// an instruction's k.
template <bool Bf16, int Registers>
__device__ inline void multiply_rows(float (&sums)[tiles_n][tiles_m][4], int mt, const u32 (&a)[2 * tiles_n][Registers],
                                     const u32 (&b)[Registers]) {
  WT_UNROLL
  for (int e = 0; e < Registers; e += 2) {
    WT_UNROLL
    for (int r = 0; r < tiles_n; ++r) {
      multiply<Bf16>(sums[r][mt], {a[2 * r][e], a[2 * r + 1][e], a[2 * r][e + 1], a[2 * r + 1][e + 1]},
                     {b[e], b[e + 1]});
    }
  }
}

/// bf16 x bf16, and fp8 x fp8 as halves.
__device__ inline void add_step(Sums& sums, u32 x_at, u32 w_at, int step) {
  constexpr int registers = bf16_x ? 4 : 8;
  const auto load = [](u32 at, u32 (&to)[registers]) {
    const chunk c = wt::load_lds(at);
    WT_UNROLL
    for (int e = 0; e < 4; ++e) {
      if constexpr (bf16_x) {
        to[e] = c.w[e];
      } else {
        to[2 * e] = halves_of_fp8<0>(c.w[e]);
        to[2 * e + 1] = halves_of_fp8<1>(c.w[e]);
      }
    }
  };
  u32 a[2 * tiles_n][registers];
  WT_UNROLL
  for (int j = 0; j < 2 * tiles_n; ++j) load(w_at + (j * steps + step) * 512 + wt::lane() * 16, a[j]);
  WT_UNROLL
  for (int mt = 0; mt < tiles_m; ++mt) {
    u32 b[registers];
    load(x_at + (step * tiles_m + mt) * 512 + wt::lane() * 16, b);
    multiply_rows<bf16_x>(sums.v, mt, a, b);
  }
}

/// The word of a unit's scales for eight rows j, block `block` of four and row `row` of the eight, and which of its
/// bytes belongs to them in this step.
__device__ inline u32 scale_word(u32 scale_at, int j, int step, int block, int row) {
  return load_lds_word(scale_at + (j * 8 / unit_rows * units_k + step / 2) * 256 + (block * 16 + j % 2 * 8 + row) * 4);
}
__device__ inline int scale_byte(int j, int step, int half) {
  return step % 2 * 2 + (rows_w % 32 == 0 ? j / 2 % 2 : half);
}

/// bf16 x fp4: a lane's chunk of W is one block of 32. Values of W become 2^-64 times what they stand for, so that the
/// factor of the largest scales is a bf16 too.
__device__ inline void add_step_widened(Sums& sums, u32 x_at, u32 w_at, u32 scale_at, int half, int step) {
  const int lane = wt::lane();
  chunk raw[2 * tiles_n];
  u32 factor[2 * tiles_n];
  WT_UNROLL
  for (int j = 0; j < 2 * tiles_n; ++j) {
    raw[j] = wt::load_lds(w_at + (j * steps + step) * 512 + lane * 16);
    const u32 word = scale_word(scale_at, j, step, lane % 4, lane / 4);
    const u32 code = __byte_perm(word, 0, 0x4040 + scale_byte(j, step, half) * 0x0101);
    factor[j] = code * 128u + 0x1F001F00u;  // twice: exponent field code + 62
  }
  WT_UNROLL
  for (int c = 0; c < 4; ++c) {
    u32 a[2 * tiles_n][4];
    WT_UNROLL
    for (int j = 0; j < 2 * tiles_n; ++j) {
      const u32 w = raw[j].w[c];
      const u32 pairs[4] = {pair_of_fp4<0>(w), pair_of_fp4<1>(w), pair_of_fp4<2>(w), pair_of_fp4<3>(w)};
      WT_UNROLL
      for (int e = 0; e < 4; ++e) a[j][e] = wt::mul_bf16x2(pairs[e], factor[j]);
    }
    WT_UNROLL
    for (int mt = 0; mt < tiles_m; ++mt) {
      const chunk x = wt::load_lds(x_at + ((step * tiles_m + mt) * 4 + c) * 512 + (lane ^ c) * 16);
      // Numbers i and i + 4 in a register, as W's are.
      const u32 b[4] = {__byte_perm(x.w[0], x.w[2], 0x5410), __byte_perm(x.w[0], x.w[2], 0x7632),
                        __byte_perm(x.w[1], x.w[3], 0x5410), __byte_perm(x.w[1], x.w[3], 0x7632)};
      multiply_rows<true>(sums.v, mt, a, b);
    }
  }
}

__device__ inline void clear(Sums& sums) {
  WT_UNROLL
  for (int r = 0; r < tiles_n; ++r) {
    WT_UNROLL
    for (int mt = 0; mt < tiles_m; ++mt) {
      WT_UNROLL
      for (int e = 0; e < 4; ++e) sums.v[r][mt][e] = 0;
    }
  }
}

/// fp8 x fp8 with scales for groups of 128, which are two steps. The stage's scales are at `scale_at`.
__device__ inline void add_group(Sums& sums, const Ring& ring, u32 slot, u32 scale_at, int group) {
  Sums part;
  clear(part);
  add_step(part, ring.x + slot, ring.w + slot, 2 * group);
  add_step(part, ring.x + slot, ring.w + slot, 2 * group + 1);
  const u32 group_at = scale_at + group * group_floats * 4;
  const float scale_w = __builtin_bit_cast(float, load_lds_word(group_at + (bm + wt::wave() % wn) * 4));
  WT_UNROLL
  for (int mt = 0; mt < tiles_m; ++mt) {
    const u32 at = group_at + (mt * 8 + wt::lane() % 4 * 2) * 4;
    const u32 first = load_lds_word(at), second = load_lds_word(at + 4);
    const float scale[2] = {__builtin_bit_cast(float, first) * scale_w, __builtin_bit_cast(float, second) * scale_w};
    WT_UNROLL
    for (int r = 0; r < tiles_n; ++r) {
      WT_UNROLL
      for (int e = 0; e < 4; ++e) sums.v[r][mt][e] += part.v[r][mt][e] * scale[e % 2];
    }
  }
}

/// All of the stage in `slot`. `half`: which 16 rows of a unit of scales are a wave's that has 16.
__device__ inline void add_stage(Sums& sums, const Ring& ring, u32 slot, u32 group_scales, int half) {
  if constexpr (groups) {
    WT_UNROLL
    for (int group = 0; group < group_count; ++group) add_group(sums, ring, slot, group_scales, group);
  } else {
    WT_UNROLL
    for (int step = 0; step < steps; ++step) {
      if constexpr (widens) {
        add_step_widened(sums, ring.x + slot, ring.w + slot, ring.w_scale + slot, half, step);
      } else {
        add_step(sums, ring.x + slot, ring.w + slot, step);
      }
    }
  }
}

}  // namespace stream
