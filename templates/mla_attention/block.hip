// Paths 1 and 2: a block of threads over tiles of keys in LDS. Both share the softmax; they differ in how they
// multiply.
namespace mla {

constexpr int run = 16 / sizeof(T);      // elements of a 16-byte access
constexpr int key_stride = width + run;  // the pad spreads keys over LDS banks and keeps 16-byte alignment
constexpr int probability_stride = index_tile + run;
// Threads of a head in the softmax; at most a wave.
constexpr int per_head = cfg::threads > heads ? cfg::threads / heads : 1;

// LDS of a block, by parts; templates/mla_attention/mla_attention.cpp computes the same size.
struct Lds {
  T* keys;            // [index_tile, key_stride]
  T* q;               // [heads, key_stride], not scaled
  T* p;               // [heads, probability_stride]: the matrix path's probabilities
  float* scores;      // [heads, index_tile]; probabilities afterwards
  float* correction;  // [heads]; at the end the totals, with the maxima behind them
  __device__ explicit Lds(char* lds)
      : keys(reinterpret_cast<T*>(lds)),
        q(keys + index_tile * key_stride),
        p(q + heads * key_stride),
        scores(reinterpret_cast<float*>(p + heads * probability_stride)),
        correction(scores + heads * index_tile) {}
};

// Running maximum and sum of one head, the same in all its threads.
struct Softmax {
  float maximum = no_maximum, total = 0.0f;

  // Scores of `count` keys -> probabilities (relative to the running maximum) and the factor for older sums.
  __device__ inline void update(const Lds& lds, int h, int part, const int* indices, int count) {
    float* const s = lds.scores + h * index_tile;
    float top = maximum;
    for (int i = part; i < count; i += per_head) {
      if (indices[i] >= 0) top = wt::max(top, s[i]);
    }
    for (int mask = per_head / 2; mask > 0; mask /= 2) top = wt::max(top, wt::shfl_xor(top, mask));
    float sum = 0.0f;
    for (int i = part; i < index_tile; i += per_head) {
      const float value = i < count && indices[i] >= 0 ? wt::exp(s[i] - top) : 0.0f;
      s[i] = value;
      lds.p[h * probability_stride + i] = wt::cast<T>(value);
      sum += value;
    }
    for (int mask = per_head / 2; mask > 0; mask /= 2) sum += wt::shfl_xor(sum, mask);
    const float factor = wt::exp(maximum - top);
    if (part == 0) lds.correction[h] = factor;
    total = total * factor + sum;
    maximum = top;
  }
};

// Path 1: each thread multiplies whole vectors with FMAs.
struct Plain {
  static constexpr int chunks = latent / vec;
  static constexpr int units = (heads * chunks + cfg::threads - 1) / cfg::threads;  // vectors of sums of a thread
  wt::vec<vec> acc[units] = {};

  __device__ inline void score(const Lds& lds, float scale, int t) const {
    for (int pair = t; pair < heads * index_tile; pair += cfg::threads) {
      const T* const key = lds.keys + pair % index_tile * key_stride;
      const T* const q = lds.q + pair / index_tile * key_stride;
      wt::vec<vec> sum{};
      for (int d = 0; d < width; d += vec) sum = wt::fma(wt::load<vec>(q + d), wt::load<vec>(key + d), sum);
      lds.scores[pair] = scale * wt::sum(sum);
    }
  }
  __device__ inline void add_values(const Lds& lds, int t) {
    WT_UNROLL
    for (int u = 0; u < units; ++u) {
      const int unit = t + u * cfg::threads;
      if (unit >= heads * chunks) break;
      const int h = unit / chunks, col = unit % chunks * vec;
      wt::vec<vec> sum = wt::fma(lds.correction[h], acc[u], wt::vec<vec>{});
      for (int i = 0; i < index_tile; ++i) {
        sum = wt::fma(lds.scores[h * index_tile + i], wt::load<vec>(lds.keys + i * key_stride + col), sum);
      }
      acc[u] = sum;
    }
  }
  template <class Write>
  __device__ inline void finish(int t, const Write& write) const {
    WT_UNROLL
    for (int u = 0; u < units; ++u) {
      const int unit = t + u * cfg::threads;
      if (unit < heads * chunks) write(unit / chunks, unit % chunks * vec, acc[u]);
    }
  }
};

// Path 2: matrix instructions. 16 heads are one tile of rows; waves take turns over 16 keys (scores) and 16 columns
// (values).
struct Matrix {
  using Mma = wt::mma16<T>;
  static constexpr int waves = cfg::threads > wt::wave_size ? cfg::threads / wt::wave_size : 1;
  static constexpr int per_lane = Mma::k / 4;
  static constexpr int col_tiles = latent / 16;
  static constexpr int own_tiles = (col_tiles + waves - 1) / waves;
  typename Mma::acc acc[own_tiles] = {};

  __device__ inline void score(const Lds& lds, float scale, int t) const {
    const int wave = t / wt::wave_size, lane = t % wt::wave_size;
    for (int tile = wave; tile < index_tile / 16; tile += waves) {
      typename Mma::acc sum{};
      for (int d = lane / 16 * run; d < width; d += 4 * run) {
        const Raw<run> a = load_raw<run>(lds.q + lane % 16 * key_stride + d, true);
        const Raw<run> b = load_raw<run>(lds.keys + (tile * 16 + lane % 16) * key_stride + d, true);
        WT_UNROLL
        for (int x = 0; x < run; x += per_lane) {
          typename Mma::ab fa, fb;
          __builtin_memcpy(&fa, &a.e[x], sizeof(fa));
          __builtin_memcpy(&fb, &b.e[x], sizeof(fb));
          sum = Mma::run(fa, fb, sum);
        }
      }
      WT_UNROLL
      for (int x = 0; x < 4; ++x) lds.scores[(lane / 16 * 4 + x) * index_tile + tile * 16 + lane % 16] = scale * sum[x];
    }
  }
  __device__ inline void add_values(const Lds& lds, int t) {
    const int wave = t / wt::wave_size, lane = t % wt::wave_size;
    float factor[4];
    WT_UNROLL
    for (int x = 0; x < 4; ++x) factor[x] = lds.correction[lane / 16 * 4 + x];
    WT_UNROLL
    for (int o = 0; o < own_tiles; ++o) {
      const int tile = wave + o * waves;
      if (tile >= col_tiles) break;
      typename Mma::acc sum;
      WT_UNROLL
      for (int x = 0; x < 4; ++x) sum[x] = acc[o][x] * factor[x];
      for (int i = lane / 16 * per_lane; i < index_tile; i += Mma::k) {
        typename Mma::ab fa, fb;
        __builtin_memcpy(&fa, lds.p + lane % 16 * probability_stride + i, sizeof(fa));
        WT_UNROLL
        for (int x = 0; x < per_lane; ++x) fb.v[x] = lds.keys[(i + x) * key_stride + tile * 16 + lane % 16];
        sum = Mma::run(fa, fb, sum);
      }
      acc[o] = sum;
    }
  }
  template <class Write>
  __device__ inline void finish(int t, const Write& write) const {
    const int wave = t / wt::wave_size, lane = t % wt::wave_size;
    WT_UNROLL
    for (int o = 0; o < own_tiles; ++o) {
      const int tile = wave + o * waves;
      if (tile >= col_tiles) break;
      WT_UNROLL
      for (int x = 0; x < 4; ++x) {
        wt::vec<1> value;
        value[0] = acc[o][x];
        write(lane / 16 * 4 + x, tile * 16 + lane % 16, value);
      }
    }
  }
};

template <class Multiply>
__device__ inline void block(const Params& p, char* memory) {
  const Lds lds(memory);
  const Work work = work_of_block(p);
  const int t = static_cast<int>(threadIdx.x);
  const int own_head = t / per_head, own_part = t % per_head;
  const int* const indices = p.indices + work.token * p.indices_row;
  constexpr int chunks = width / vec;
  const bool aligned = p.aligned != 0;
  for (int c = t; c < heads * chunks; c += cfg::threads) {
    *reinterpret_cast<Raw<vec>*>(lds.q + c / chunks * key_stride + c % chunks * vec) =
        load_raw<vec>(query(p, work, c / chunks) + c % chunks * vec, aligned);
  }
  Multiply multiply;
  Softmax softmax;
  for (int begin = work.begin; begin < work.end; begin += index_tile) {
    const int count = wt::min(index_tile, work.end - begin);
    for (int c = t; c < index_tile * chunks; c += cfg::threads) {
      const int i = c / chunks, d = c % chunks * vec;
      const int slot = i < count ? indices[begin + i] : -1;
      Raw<vec> raw = {};
      if (slot >= 0) raw = load_raw<vec>(p.cache + slot * p.cache_row + d, aligned);
      *reinterpret_cast<Raw<vec>*>(lds.keys + i * key_stride + d) = raw;
    }
    __syncthreads();
    multiply.score(lds, p.scale, t);
    __syncthreads();
    softmax.update(lds, own_head, own_part, indices + begin, count);
    __syncthreads();
    multiply.add_values(lds, t);
    __syncthreads();
  }
  if (own_part == 0) {
    lds.correction[own_head] = softmax.total;
    lds.correction[heads + own_head] = softmax.maximum;
  }
  __syncthreads();
  multiply.finish(t, [&](int h, int col, const auto& sums) {
    write(p, work, h, col, sums, lds.correction[heads + h], lds.correction[h]);
  });
}

}  // namespace mla
