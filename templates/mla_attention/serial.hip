// Path 0: one thread a block, no barriers; for CPUs, where a thread has the vector registers of a core and the block's
// LDS is its first-level cache.
namespace mla {

// Unaligned access costs such a thread nothing.
template <int N>
__device__ inline wt::vec<N> load_any(const T* p) {
  alignas(N * sizeof(T)) T raw[N];
  __builtin_memcpy(raw, p, sizeof(raw));
  return wt::load<N>(raw);
}

// `tile` keys against all heads: scores[h * index_tile + i]. Keys past `count` repeat the last one.
__device__ inline void score_keys(const float* q, const T* const* keys, int first, int count, float* scores) {
  const T* key[cfg::tile];
  WT_UNROLL
  for (int i = 0; i < cfg::tile; ++i) key[i] = keys[wt::min(first + i, count - 1)];
  wt::vec<vec> sums[heads][cfg::tile] = {};
  for (int d = 0; d < width; d += vec) {
    wt::vec<vec> k[cfg::tile];
    WT_UNROLL
    for (int i = 0; i < cfg::tile; ++i) k[i] = load_any<vec>(key[i] + d);
    WT_UNROLL
    for (int h = 0; h < heads; ++h) {
      const wt::vec<vec> qv = wt::load<vec>(q + h * width + d);
      WT_UNROLL
      for (int i = 0; i < cfg::tile; ++i) sums[h][i] = wt::fma(qv, k[i], sums[h][i]);
    }
  }
  WT_UNROLL
  for (int h = 0; h < heads; ++h) {
    WT_UNROLL
    for (int i = 0; i < cfg::tile; ++i) scores[h * index_tile + first + i] = wt::sum(sums[h][i]);
  }
}

// Adds p . V of `count` tokens to COLS vectors of columns of all heads.
template <int COLS>
__device__ inline void add_values(float* sums, const T* const* keys, int count, const float* p, const float* correction,
                                  int col) {
  wt::vec<vec> acc[heads][COLS];
  WT_UNROLL
  for (int h = 0; h < heads; ++h) {
    WT_UNROLL
    for (int c = 0; c < COLS; ++c) {
      acc[h][c] = wt::fma(correction[h], wt::load<vec>(sums + h * latent + col + c * vec), wt::vec<vec>{});
    }
  }
  for (int i = 0; i < count; ++i) {
    wt::vec<vec> v[COLS];
    WT_UNROLL
    for (int c = 0; c < COLS; ++c) v[c] = load_any<vec>(keys[i] + col + c * vec);
    WT_UNROLL
    for (int h = 0; h < heads; ++h) {
      WT_UNROLL
      for (int c = 0; c < COLS; ++c) acc[h][c] = wt::fma(p[h * index_tile + i], v[c], acc[h][c]);
    }
  }
  WT_UNROLL
  for (int h = 0; h < heads; ++h) {
    WT_UNROLL
    for (int c = 0; c < COLS; ++c) wt::store<vec>(sums + h * latent + col + c * vec, acc[h][c]);
  }
}

__device__ inline void serial(const Params& p, float* lds) {
  const Work work = work_of_block(p);
  float* const q = lds;                         // [heads, width], scaled
  float* const sums = q + heads * width;        // [heads, latent]
  float* const scores = sums + heads * latent;  // [heads, index_tile]
  float maximum[heads], total[heads], correction[heads];
  for (int h = 0; h < heads; ++h) {
    const T* const from = query(p, work, h);
    for (int d = 0; d < width; ++d) q[h * width + d] = p.scale * wt::to_float(from[d]);
    for (int c = 0; c < latent; ++c) sums[h * latent + c] = 0.0f;
    maximum[h] = no_maximum;
    total[h] = 0.0f;
  }
  const int* const indices = p.indices + work.token * p.indices_row;
  for (int begin = work.begin; begin < work.end; begin += index_tile) {
    const T* keys[index_tile];
    int count = 0;
    for (int i = begin; i < wt::min(work.end, begin + index_tile); ++i) {
      if (indices[i] >= 0) keys[count++] = p.cache + indices[i] * p.cache_row;
    }
    if (count == 0) continue;
    for (int first = 0; first < count; first += cfg::tile) score_keys(q, keys, first, count, scores);
    for (int h = 0; h < heads; ++h) {
      float* const s = scores + h * index_tile;
      float top = maximum[h];
      for (int i = 0; i < count; ++i) top = wt::max(top, s[i]);
      for (int i = 0; i < count; ++i) s[i] = wt::exp(s[i] - top);
      float sum = 0.0f;
      for (int i = 0; i < count; ++i) sum += s[i];
      correction[h] = wt::exp(maximum[h] - top);
      total[h] = total[h] * correction[h] + sum;
      maximum[h] = top;
    }
    int col = 0;
    for (; col + cfg::tile * vec <= latent; col += cfg::tile * vec) {
      add_values<cfg::tile>(sums, keys, count, scores, correction, col);
    }
    if constexpr (latent % (cfg::tile * vec) != 0) {
      for (; col < latent; col += vec) add_values<1>(sums, keys, count, scores, correction, col);
    }
  }
  for (int h = 0; h < heads; ++h) {
    for (int col = 0; col < latent; col += vec) {
      write(p, work, h, col, wt::load<vec>(sums + h * latent + col), maximum[h], total[h]);
    }
  }
}

}  // namespace mla
