// MLA attention over the listed cache slots, absorbed form: all heads share one key of latent + rope elements, whose
// first `latent` are the value too. One kernel serves decode and prefill: with sparse selection every query has its own
// list of tokens, so prefill has no keys to share between queries and gains nothing from expanding keys and values for
// each head.
//
// cfg: dtype, latent, rope; path, heads_per_block, index_tile, tile, vec, threads; for path 3 also stages, cluster. A
// block has one query, heads_per_block heads and one part of the list; it keeps a running maximum and sum (online
// softmax, in float). With several parts the sums go to the workspace and mla_attention_combine puts them together in
// order.
namespace mla {

using T = wt::element<cfg::dtype>;

constexpr int latent = cfg::latent, width = cfg::latent + cfg::rope, vec = cfg::vec;
constexpr int heads = cfg::heads_per_block, index_tile = cfg::index_tile;
constexpr float no_maximum = -1e30f;  // below every score, and finite: differences of it are no NaN

struct Params {
  const T* q;          // [m, all heads * width]
  const T* cache;      // [slots, width]
  const int* indices;  // [m, topk]; negative: none
  T* out;              // [m, all heads * latent]
  float* partial;      // [m, all heads, parts] of {latent sums, maximum, sum}; null with one part
  wt::i64 q_row, cache_row, indices_row, out_row;
  int m, heads, topk;
  int parts, part_length;  // of the list
  float scale;
  int aligned;  // rows of q and cache begin at multiples of vec elements; path 3: those of out, of 2 elements
};

template <int N>
struct alignas(N * sizeof(T)) Raw {
  T e[N];
};

template <int N>
__device__ inline Raw<N> load_raw(const T* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const Raw<N>*>(p);
  Raw<N> raw;
  WT_UNROLL
  for (int x = 0; x < N; ++x) raw.e[x] = p[x];
  return raw;
}

// What a block works on.
struct Work {
  int token, head0, part, begin, end;  // [begin, end) of the list
};

__device__ inline Work work_of_block(const Params& p) {
  const int groups = (p.heads + heads - 1) / heads;
  const int id = static_cast<int>(blockIdx.x), part = static_cast<int>(blockIdx.y);
  const int begin = part * p.part_length;
  return {id / groups, id % groups * heads, part, begin, wt::min(p.topk, begin + p.part_length)};
}

// Heads past the last one read the last one's query and write nothing.
__device__ inline const T* query(const Params& p, const Work& work, int h) {
  return p.q + work.token * p.q_row + wt::min(work.head0 + h, p.heads - 1) * width;
}

// Where partial sums of head h go; its last two elements are the maximum and the sum.
__device__ inline float* partial_of(const Params& p, int token, int head, int part) {
  return p.partial + ((static_cast<wt::i64>(token) * p.heads + head) * p.parts + part) * (latent + 2);
}

// N neighbouring columns of a head that is complete for this part.
template <int N>
__device__ inline void write(const Params& p, const Work& work, int h, int col, const wt::vec<N>& sums, float maximum,
                             float total) {
  const int head = work.head0 + h;
  if (head >= p.heads) return;
  if (p.partial != nullptr) {
    float* const out = partial_of(p, work.token, head, work.part);
    WT_UNROLL
    for (int x = 0; x < N; ++x) out[col + x] = sums[x];
    if (col == 0) {
      out[latent] = maximum;
      out[latent + 1] = total;
    }
    return;
  }
  T* const out = p.out + work.token * p.out_row + head * latent + col;
  const float factor = total > 0.0f ? 1.0f / total : 0.0f;  // a query without tokens gives 0
  WT_UNROLL
  for (int x = 0; x < N; ++x) out[x] = wt::cast<T>(sums[x] * factor);
}

}  // namespace mla
