// A thread scores one key, VEC products of four heads at a time: their sums do not wait for each other.
template <int VEC>
__device__ void score_by_threads(const Params& p) {
  constexpr int together = cfg::heads < 4 ? cfg::heads : 4;
  const int row = (int)blockIdx.x;
  const int s = (int)blockIdx.y * cfg::threads + (int)threadIdx.x;
  if (s >= p.context) return;
  float score = -__builtin_inff();
  if (const T* key = key_of(p, row, s)) {
    const T* q = (const T*)p.q + row * p.q_row;
    const float* w = p.w + row * p.w_row;
    score = 0.0f;
    for (int first = 0; first < cfg::heads; first += together) {
      // The last group may reach back to heads that are done; they are not added again.
      const int head = wt::min(first, cfg::heads - together);
      wt::vec<VEC> parts[together] = {};
      for (int col = 0; col < cfg::n; col += VEC) {
        const wt::vec<VEC> b = wt::load<VEC>(key + col);
#pragma unroll
        for (int j = 0; j < together; ++j) {
          const wt::vec<VEC> a = wt::load<VEC>(q + (head + j) * cfg::n + col);
#pragma unroll
          for (int i = 0; i < VEC; ++i) parts[j][i] = wt::fma(a[i], b[i], parts[j][i]);
        }
      }
#pragma unroll
      for (int j = 0; j < together; ++j) {
        float dot = 0.0f;
        for (int i = 0; i < VEC; ++i) dot += parts[j][i];
        if (head + j >= first) score = wt::fma(w[head + j], wt::max(dot, 0.0f), score);
      }
    }
    score *= p.scale;
  }
  p.scores[row * p.scores_row + s] = score;
}

using Tile = wt::mma16<T>;

template <bool ALIGNED>
__device__ inline typename Tile::ab load_fragment(const T* from) {
  typename Tile::ab fragment;
  if constexpr (ALIGNED) {
    __builtin_memcpy(&fragment, __builtin_assume_aligned(from, sizeof(fragment)), sizeof(fragment));
  } else {
    for (int i = 0; i < Tile::fragment; ++i) fragment[i] = from[i];
  }
  return fragment;
}

__device__ inline typename Tile::ab zero_fragment() {
  typename Tile::ab fragment;
  for (int i = 0; i < Tile::fragment; ++i) fragment[i] = wt::cast<T>(0.0f);
  return fragment;
}

// A wave scores cfg::tiles tiles of 16 keys: rows of the matrix tile are heads, columns are keys. The queries stay in
// registers.
template <bool ALIGNED>
__device__ void score_by_tiles(const Params& p) {
  constexpr int head_tiles = (cfg::heads + 15) / 16;
  constexpr int steps = (cfg::n + Tile::k - 1) / Tile::k;
  const int row = (int)blockIdx.x;
  const int lane = wt::lane();
  const T* q = (const T*)p.q + row * p.q_row;
  typename Tile::ab queries[head_tiles][steps];
  float weights[head_tiles][4];
#pragma unroll
  for (int tile = 0; tile < head_tiles; ++tile) {
    const int head = tile * 16 + Tile::row_a(lane);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const T* from = q + head * cfg::n + step * Tile::k + Tile::k_ab(lane);
      queries[tile][step] = head < cfg::heads ? load_fragment<ALIGNED>(from) : zero_fragment();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int weight_head = tile * 16 + Tile::row_c(lane) + i;
      weights[tile][i] = weight_head < cfg::heads ? p.w[row * p.w_row + weight_head] * p.scale : 0.0f;
    }
  }
  const int waves = cfg::threads / wt::wave_size;
  const int first = ((int)blockIdx.y * waves + wt::wave()) * cfg::tiles * 16;
  for (int tile_index = 0; tile_index < cfg::tiles; ++tile_index) {
    const int begin = first + tile_index * 16;
    const int s = begin + Tile::col_c(lane);
    const bool writes = lane < 16 && s < p.context;
    if (begin > p.positions[row]) {
      if (writes) p.scores[row * p.scores_row + s] = -__builtin_inff();
      continue;
    }
    const T* key = key_of(p, row, begin + Tile::col_b(lane));
    typename Tile::acc dots[head_tiles];
#pragma unroll
    for (int tile = 0; tile < head_tiles; ++tile) {
      for (int i = 0; i < 4; ++i) dots[tile][i] = 0.0f;
    }
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const typename Tile::ab b =
          key != nullptr ? load_fragment<ALIGNED>(key + step * Tile::k + Tile::k_ab(lane)) : zero_fragment();
#pragma unroll
      for (int tile = 0; tile < head_tiles; ++tile) dots[tile] = Tile::run(queries[tile][step], b, dots[tile]);
    }
    float score = 0.0f;
#pragma unroll
    for (int tile = 0; tile < head_tiles; ++tile) {
      for (int i = 0; i < 4; ++i) score = wt::fma(weights[tile][i], wt::max(dots[tile][i], 0.0f), score);
    }
    score += wt::shfl_xor(score, 16);
    score += wt::shfl_xor(score, 32);
    if (writes) p.scores[row * p.scores_row + s] = key != nullptr ? score : -__builtin_inff();
  }
}

extern "C" __global__ __launch_bounds__(cfg::threads) void indexer_scores_main(Params p) {
  overlap::begin();
  if constexpr (cfg::tiles > 0) {
#if defined(WT_CUDA)
    if (p.aligned) {
      warp_tiles::score<true>(p);
    } else {
      warp_tiles::score<false>(p);
    }
#else
    if (p.aligned) {
      score_by_tiles<true>(p);
    } else {
      score_by_tiles<false>(p);
    }
#endif
  } else {
    if (p.aligned) {
      score_by_threads<cfg::vec>(p);
    } else {
      score_by_threads<1>(p);
    }
  }
}
