// cfg: fp4 (0: fp8), group (elements that share a scale; 0: the whole row), scale_rows (1: scale[row][group], 0:
// scale[group][row]); threads, threads_per_row (of a group), vec.

struct Params {
  const void* x;
  void* q;
  void* scale;
  wt::i64 x_row, q_row, scale_row;  // in elements
  int m, k, groups;
  int aligned;
};

namespace quantize {

constexpr int scratch_words = cfg::threads / wt::wave_size + 1;

// Largest of the values of the cfg::threads_per_row threads of a group, for all of them. All threads of the block call.
__device__ inline int group_max(int value, [[maybe_unused]] int* scratch) {
  if constexpr (cfg::threads_per_row > 1) {
    constexpr int inside = cfg::threads_per_row < wt::wave_size ? cfg::threads_per_row : wt::wave_size;
    for (int mask = inside / 2; mask > 0; mask /= 2) value = wt::max(value, wt::shfl_xor(value, mask));
  }
  if constexpr (cfg::threads_per_row > wt::wave_size) {
    constexpr int waves = cfg::threads_per_row / wt::wave_size;
    if (wt::lane() == 0) scratch[wt::wave()] = value;
    __syncthreads();
    const int first = wt::wave() / waves * waves;
    for (int i = 0; i < waves; ++i) value = wt::max(value, scratch[first + i]);
  }
  return value;
}

template <int W, bool Aligned>
__device__ inline wt::vec<W> load(const wt::bf16* x) {
  if constexpr (Aligned) return wt::load<W>(x);
  wt::vec<W> values;
  for (int i = 0; i < W; ++i) values[i] = wt::to_float(x[i]);
  return values;
}

// A word of codes.
__device__ inline wt::u32 pack(const wt::vec<4>& values) { return wt::fp8_pack(values); }
__device__ inline wt::u32 pack(const wt::vec<8>& values) { return wt::fp4_pack(values); }

// W codes at `to`: bytes of fp8, nibbles of fp4 (W is even then).
template <int W, bool Aligned>
__device__ inline void store(char* to, const wt::vec<W>& values) {
  constexpr int per_word = cfg::fp4 ? 8 : 4, words = (W + per_word - 1) / per_word, bytes = cfg::fp4 ? W / 2 : W;
  wt::u32 codes[words];
  for (int word = 0; word < words; ++word) {
    wt::vec<per_word> part;
    for (int i = 0; i < per_word; ++i) part[i] = word * per_word + i < W ? values[word * per_word + i] : 0.0f;
    codes[word] = pack(part);
  }
  if constexpr (Aligned && bytes > 0) {
    __builtin_memcpy(__builtin_assume_aligned(to, bytes), codes, bytes);
  } else {
    for (int i = 0; i < bytes; ++i) to[i] = (char)(codes[i / 4] >> (8 * (i % 4)));
  }
}

template <bool Aligned>
__device__ void run(const Params& p, int* scratch) {
  constexpr int VEC = cfg::vec;
  const wt::i64 unit = rows::row_of_thread();
  const int row = (int)(unit / p.groups), group = (int)(unit % p.groups);
  const bool real = row < p.m;  // threads beyond the last group take part in the reductions with an empty one
  const int begin = cfg::group * group;
  const int end = !real ? begin : cfg::group == 0 ? p.k : wt::min(begin + cfg::group, p.k);
  const wt::bf16* x = (const wt::bf16*)p.x + row * p.x_row;

  // When a thread has one vector of its group it keeps it; else it reads again what the caches then hold.
  constexpr bool keep = cfg::group != 0 && cfg::group == cfg::threads_per_row * VEC;
  wt::vec<VEC> kept;
  // Bits of magnitudes are ordered as the magnitudes, and NaN is above all.
  int largest[VEC] = {};
  rows::for_each<VEC>(begin, end, [&](int col, auto width) {
    constexpr int W = decltype(width)::value;
    const wt::vec<W> values = load<W, Aligned>(x + col);
    for (int i = 0; i < W; ++i) largest[i] = wt::max(largest[i], __builtin_bit_cast(int, values[i]) & 0x7FFFFFFF);
    if constexpr (keep && W == VEC) kept = values;
  });
  int amax = 0;
  for (int i = 0; i < VEC; ++i) amax = wt::max(amax, largest[i]);
  amax = group_max(amax, scratch);

  float factor;
  const bool first = real && rows::thread_in_row() == 0;
  const wt::i64 scale_at = cfg::scale_rows ? row * p.scale_row + group : group * p.scale_row + row;
  if constexpr (cfg::fp4) {
    const wt::u32 scale = wt::mx_scale_even(__builtin_bit_cast(float, amax));
    factor = wt::mx_inverse_scale(scale);
    if (first) ((unsigned char*)p.scale)[scale_at] = (unsigned char)scale;
  } else {
    // 448 is the largest fp8; the bound keeps the factor of a group of zeros finite (templates/formats.h).
    const float bounded = wt::max(amax > 0x7F800000 ? 0.0f : __builtin_bit_cast(float, amax), 1e-10f);
    const float scale = bounded / 448.0f;
    factor = 1.0f / scale;
    if (first) ((float*)p.scale)[scale_at] = scale;
  }

  char* q = (char*)p.q + row * p.q_row / (cfg::fp4 ? 2 : 1);
  rows::for_each<VEC>(begin, end, [&](int col, auto width) {
    constexpr int W = decltype(width)::value;
    wt::vec<W> values;
    if constexpr (keep && W == VEC) {
      values = kept;
    } else {
      values = load<W, Aligned>(x + col);
    }
    for (int i = 0; i < W; ++i) values[i] *= factor;
    store<W, Aligned>(q + (cfg::fp4 ? col / 2 : col), values);
  });
}

}  // namespace quantize

extern "C" __global__ __launch_bounds__(cfg::threads) void quantize_main(Params p) {
  overlap::begin();
  __shared__ int scratch[quantize::scratch_words];
  if (p.aligned) {
    quantize::run<true>(p, scratch);
  } else {
    quantize::run<false>(p, scratch);
  }
}
