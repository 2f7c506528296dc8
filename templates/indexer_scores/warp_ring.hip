// Keys by way of LDS on NVIDIA from Hopper on: each wave has a ring of its own, filled by the copy engine 16 keys at a
// time, and meets no other wave. Rows of the matrix tile are heads, columns are keys. For bf16; cfg::n is a multiple of
// 32, pages have multiples of 16 slots, and rows of the cache follow each other.

namespace warp_ring {

constexpr int head_tiles = (cfg::heads + 15) / 16;
constexpr int steps = cfg::n / 32;  // of k: a lane has 16 bytes of a row in each, for two instructions
constexpr int keys = 16, key_bytes = cfg::n * 2;
constexpr int tile_bytes = keys * key_bytes;
constexpr int waves = cfg::threads / wt::wave_size;
constexpr int barriers_at = waves * cfg::stages * tile_bytes;

static_assert(cfg::page % keys == 0 && cfg::tiles <= wt::wave_size);

// Where the keys of a tile lie, and how many there are: the row sees no others.
struct Tile {
  const char* from;
  int count;
};
__device__ inline Tile tile_of(const Params& p, int row, int s) {
  const T* const first = key_of(p, row, s);
  if (first == nullptr) return {nullptr, 0};
  const wt::i64 slot = (first - (const T*)p.cache) / p.cache_row;
  const int seen = wt::min(p.positions[row] + 1, p.context) - s;
  return {(const char*)first, wt::min(wt::min(seen, keys), (int)(p.slots - slot))};
}

__device__ inline void score(const Params& p, char* memory) {
  const int row = (int)blockIdx.x, lane = wt::lane(), wave = wt::wave(), g = lane / 4, t = lane % 4;
  const wt::u32 lds = wt::lds_address(memory);
  const wt::u32 ring = lds + wave * cfg::stages * tile_bytes, barriers = lds + barriers_at + wave * cfg::stages * 8;
  if (lane == 0) {
    for (int stage = 0; stage < cfg::stages; ++stage) wt::barrier_init(barriers + stage * 8, 1);
    wt::fence_barrier_init();
  }
  wt::wave_sync();
  // The waves of a block take its tiles in turns. Lane i knows where the wave's tile i is.
  const int first = (int)blockIdx.y * waves * cfg::tiles * keys + wave * keys;
  const Tile own = lane < cfg::tiles ? tile_of(p, row, first + lane * waves * keys) : Tile{nullptr, 0};
  const auto bring = [&](int tile) {
    if (lane != tile) return;
    const wt::u32 barrier = barriers + tile % cfg::stages * 8, to = ring + tile % cfg::stages * tile_bytes;
    wt::barrier_arrive_expect(barrier, own.count * key_bytes);
    if (p.cache_row == cfg::n) {
      if (own.count > 0) wt::copy_bulk(to, own.from, own.count * key_bytes, barrier);
    } else {
      for (int key = 0; key < own.count; ++key) {
        wt::copy_bulk(to + key * key_bytes, own.from + key * p.cache_row * 2, key_bytes, barrier);
      }
    }
  };
  for (int tile = 0; tile < cfg::stages && tile < cfg::tiles; ++tile) bring(tile);

  wt::chunk upper[head_tiles][steps], lower[head_tiles][steps];  // heads g and g + 8 of a tile
  float weights[head_tiles][2];
  const T* const q = (const T*)p.q + row * p.q_row;
#pragma unroll
  for (int tile = 0; tile < head_tiles; ++tile) {
    const int head = tile * 16 + g;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int at = step * 32 + t * 8;
      upper[tile][step] = head < cfg::heads ? *(const wt::chunk*)(q + head * cfg::n + at) : wt::chunk{};
      lower[tile][step] = head + 8 < cfg::heads ? *(const wt::chunk*)(q + (head + 8) * cfg::n + at) : wt::chunk{};
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weights[tile][i] = head + 8 * i < cfg::heads ? p.w[row * p.w_row + head + 8 * i] * p.scale : 0.0f;
    }
  }

#pragma unroll 1
  for (int tile = 0; tile < cfg::tiles; ++tile) {
    const int count = wt::shfl(own.count, tile), begin = first + tile * waves * keys;
    if (begin >= p.context) break;
    const wt::u32 at = ring + tile % cfg::stages * tile_bytes;
    wt::barrier_wait(barriers + tile % cfg::stages * 8, tile / cfg::stages % 2);
    float sums[2][2] = {};  // of keys 8 j + 2t and 8 j + 2t + 1, over this lane's heads
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wt::chunk key[steps];
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        key[step] = wt::load_lds(at + (j * 8 + g) * key_bytes + step * 64 + t * 16);
      }
      if (j == 1) {
        wt::wave_sync();
        if (tile + cfg::stages < cfg::tiles) bring(tile + cfg::stages);
      }
      if (count <= j * 8) continue;
#pragma unroll
      for (int heads = 0; heads < head_tiles; ++heads) {
        float d[4] = {};
#pragma unroll
        for (int step = 0; step < steps; ++step) {
#pragma unroll
          for (int half = 0; half < 4; half += 2) {
            const wt::chunk &up = upper[heads][step], &low = lower[heads][step];
            const wt::u32 a[4] = {up.w[half], low.w[half], up.w[half + 1], low.w[half + 1]};
            const wt::u32 b[2] = {key[step].w[half], key[step].w[half + 1]};
            wt::mma_bf16(d, a, b);
          }
        }
        sums[j][0] = wt::fma(weights[heads][0], wt::max(d[0], 0.0f),
                             wt::fma(weights[heads][1], wt::max(d[2], 0.0f), sums[j][0]));
        sums[j][1] = wt::fma(weights[heads][0], wt::max(d[1], 0.0f),
                             wt::fma(weights[heads][1], wt::max(d[3], 0.0f), sums[j][1]));
      }
    }
#pragma unroll
    for (int mask = 4; mask < 32; mask *= 2) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i / 2][i % 2] += wt::shfl_xor(sums[i / 2][i % 2], mask);
    }
    if (g < 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int key = g * 8 + t * 2 + i;
        if (begin + key >= p.context) continue;
        const float sum = g == 0 ? sums[0][i] : sums[1][i];
        p.scores[row * p.scores_row + begin + key] = key < count ? sum : -__builtin_inff();
      }
    }
  }
}

}  // namespace warp_ring

extern "C" __global__ __launch_bounds__(cfg::threads) void indexer_scores_main(Params p) {
  extern __shared__ __align__(128) char memory[];
  overlap::begin();
  warp_ring::score(p, memory);
}
