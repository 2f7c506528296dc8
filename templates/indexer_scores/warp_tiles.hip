// The matrix tile in waves of 32 lanes (NVIDIA): rows are heads, columns 8 keys. For bf16; cfg::n is a multiple of 32.

#if defined(WT_CUDA)

namespace warp_tiles {

constexpr int head_tiles = (cfg::heads + 15) / 16;
// Of k: a lane has 16 bytes of a row in each, for two instructions. Fewer elements are not for this path.
constexpr int steps = cfg::n < 32 ? 1 : cfg::n / 32;

// Elements 32 step + 8 t .. + 8 of a row in step's registers: any order of k will do as long as q and keys agree.
struct Row {
  wt::chunk part[steps];
};

template <bool ALIGNED>
__device__ inline Row load_row(const wt::bf16* row, int t) {
  Row result = {};
  if (row == nullptr) return result;
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    const wt::bf16* const from = row + step * 32 + t * 8;
    if constexpr (ALIGNED) {
      __builtin_memcpy(&result.part[step], __builtin_assume_aligned(from, 16), 16);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) result.part[step].w[i] = from[2 * i].bits | (wt::u32)from[2 * i + 1].bits << 16;
    }
  }
  return result;
}

// A wave scores cfg::tiles tiles of 8 keys. The queries stay in registers; the next tile's keys are on their way while
// one is multiplied.
template <bool ALIGNED>
__device__ void score(const Params& p) {
  const int row = (int)blockIdx.x, lane = wt::lane(), g = lane / 4, t = lane % 4;
  const wt::bf16* const q = (const wt::bf16*)p.q + row * p.q_row;
  Row upper[head_tiles], lower[head_tiles];  // heads g and g + 8 of a tile
  float weights[head_tiles][2];
#pragma unroll
  for (int tile = 0; tile < head_tiles; ++tile) {
    const int head = tile * 16 + g;
    upper[tile] = load_row<ALIGNED>(head < cfg::heads ? q + head * cfg::n : nullptr, t);
    lower[tile] = load_row<ALIGNED>(head + 8 < cfg::heads ? q + (head + 8) * cfg::n : nullptr, t);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weights[tile][i] = head + 8 * i < cfg::heads ? p.w[row * p.w_row + head + 8 * i] * p.scale : 0.0f;
    }
  }
  const int first = ((int)blockIdx.y * (cfg::threads / wt::wave_size) + wt::wave()) * cfg::tiles * 8;
  const auto key_at = [&](int tile) { return (const wt::bf16*)key_of(p, row, first + tile * 8 + g); };
  const wt::bf16* key = key_at(0);
  Row keys = load_row<ALIGNED>(key, t);
#pragma unroll 1
  for (int tile = 0; tile < cfg::tiles; ++tile) {
    const Row now = keys;
    const wt::u64 there = wt::ballot(key != nullptr);
    if (tile + 1 < cfg::tiles) {
      key = key_at(tile + 1);
      keys = load_row<ALIGNED>(key, t);
    }
    float even = 0.0f, odd = 0.0f;  // of keys 2t and 2t + 1, over this lane's heads
    if (there != 0) {
#pragma unroll
      for (int heads = 0; heads < head_tiles; ++heads) {
        float d[4] = {};
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
          for (int half = 0; half < 4; half += 2) {
            const wt::chunk &up = upper[heads].part[step], &low = lower[heads].part[step];
            const wt::u32 a[4] = {up.w[half], low.w[half], up.w[half + 1], low.w[half + 1]};
            const wt::u32 b[2] = {now.part[step].w[half], now.part[step].w[half + 1]};
            wt::mma_bf16(d, a, b);
          }
        }
        even = wt::fma(weights[heads][0], wt::max(d[0], 0.0f), wt::fma(weights[heads][1], wt::max(d[2], 0.0f), even));
        odd = wt::fma(weights[heads][0], wt::max(d[1], 0.0f), wt::fma(weights[heads][1], wt::max(d[3], 0.0f), odd));
      }
#pragma unroll
      for (int mask = 4; mask < 32; mask *= 2) {
        even += wt::shfl_xor(even, mask);
        odd += wt::shfl_xor(odd, mask);
      }
    }
    // Lane i < 8 writes key i.
    const float one = wt::shfl(even, lane / 2), other = wt::shfl(odd, lane / 2);
    const int s = first + tile * 8 + lane;
    if (lane < 8 && s < p.context) {
      const bool known = ((there >> (4 * lane)) & 1) != 0;
      p.scores[row * p.scores_row + s] = known ? (lane % 2 == 0 ? one : other) : -__builtin_inff();
    }
  }
}

}  // namespace warp_tiles

#endif
