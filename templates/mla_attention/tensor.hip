// Path 3, NVIDIA from Hopper on: 16 heads are the rows of the matrix instructions, and a tile of gathered tokens in
// LDS is key and value at once. A ring of `stages` tiles is filled by the copy engine, one row of the cache at a time,
// while the waves multiply: wave w scores its own tokens of the tile against all 16 heads (the queries stay in
// registers), the waves agree on the maximum and exchange probabilities through LDS, and each adds up its own columns
// of the value.
//
// Rows in LDS are an odd number of 16-byte units long, so that the eight rows which ldmatrix reads at once lie in
// different banks.
namespace mla {

static_assert(cfg::dtype == 1 && heads == 16 && width % 32 == 0);

constexpr int waves = cfg::threads / wt::wave_size, stages = cfg::stages;
constexpr int row_bytes = width * 2, row_stride = row_bytes + 16;
constexpr int own_tokens = index_tile / waves, own_groups = own_tokens / 8;  // that a wave scores
constexpr int own_cols = latent / waves, own_tiles = own_cols / 8;           // that a wave adds up
constexpr int chains = 4 / own_groups > 2 && own_tiles <= 8 ? 4 : 2;         // of sums of a score that run side by side
static_assert(own_tokens % 8 == 0 && own_tokens <= 32 && own_cols % 16 == 0 && waves % 4 == 0);

// LDS of a block, as offsets; templates/mla_attention/tensor.cpp computes the same size.
constexpr int tile_bytes = index_tile * row_stride, probability_bytes = index_tile * 2 + 16;
constexpr int at_probabilities = stages * tile_bytes;                         // 2 x [heads, probability_bytes]
constexpr int at_tops = at_probabilities + 2 * heads * probability_bytes;     // 2 x [heads, waves] floats
constexpr int at_present = at_tops + 2 * heads * waves * 4;                   // [stages, waves] bits of tokens
constexpr int at_barriers = at_present + stages * waves * 4;                  // [stages + 1]

constexpr wt::u32 all_own = own_tokens == 32 ? ~0u : (1u << own_tokens % 32) - 1;

// Two neighbouring columns of the output, the first of even number.
__device__ inline void store_pair(const Params& p, T* to, float a, float b) {
  const wt::u32 both = wt::pack_bf16(a, b);
  if (p.aligned != 0) {
    *reinterpret_cast<wt::u32*>(to) = both;
  } else {
    to[0].bits = static_cast<unsigned short>(both);
    to[1].bits = static_cast<unsigned short>(both >> 16);
  }
}

struct Block {
  const Params& p;
  char* const memory;
  const wt::u32 lds;
  const Work work;
  const int t, wave, lane, row, quad;  // row and quad: where the lane's sums are, rows `row` and `row` + 8
  const int* const indices;
  const int tiles;

  __device__ inline Block(const Params& params, char* memory_)
      : p(params),
        memory(memory_),
        lds(wt::lds_address(memory_)),
        work(work_of_block(params)),
        t(static_cast<int>(threadIdx.x)),
        wave(t / wt::wave_size),
        lane(t % wt::wave_size),
        row(lane / 4),
        quad(lane % 4),
        indices(params.indices + work.token * params.indices_row),
        tiles((work.end - work.begin + index_tile - 1) / index_tile) {}

  __device__ inline wt::u32 barrier(int stage) const { return lds + at_barriers + stage * 8; }
  __device__ inline wt::u32* present(int stage) const {
    return reinterpret_cast<wt::u32*>(memory + at_present) + stage * waves;
  }
  __device__ inline float* tops(int i) const {
    return reinterpret_cast<float*>(memory + at_tops) + i % 2 * heads * waves;
  }

  __device__ inline void init_barriers() const {
    if (t == 0) {
      for (int s = 0; s < stages; ++s) wt::barrier_init(barrier(s), waves);
      wt::barrier_init(barrier(stages), 1);
      wt::fence_barrier_init();
      wt::fence_async();
    }
    __syncthreads();
  }

  // Slot of this lane's token (lanes past own_tokens repeat others) of tile i.
  __device__ inline int slot(int i) const {
    const int at = work.begin + i * index_tile + wave * own_tokens + lane % own_tokens;
    return at < work.end ? indices[at] : -1;
  }

  // Starts the copies of this wave's tokens of tile i. Tokens that are not there become zeros: what the stage held
  // before may be no number, and 0 times it is none either.
  __device__ inline void bring(int i, int token_slot) const {
    const int stage = i % stages;
    const int first = stage * tile_bytes + wave * own_tokens * row_stride;
    const wt::u32 there = static_cast<wt::u32>(wt::ballot(token_slot >= 0)) & all_own;
    if (there != all_own) {
      for (int r = 0; r < own_tokens; ++r) {
        if ((there >> r & 1) != 0) continue;
        for (int c = lane * 16; c < row_bytes; c += wt::wave_size * 16) {
          *reinterpret_cast<wt::chunk*>(memory + first + r * row_stride + c) = {};
        }
      }
      wt::fence_async();
    }
    if (lane == 0) present(stage)[wave] = there;
    wt::wave_sync();
    if (lane == 0) wt::barrier_arrive_expect(barrier(stage), __popc(there) * row_bytes);
    wt::wave_sync();
    if (lane < own_tokens && token_slot >= 0) {
      wt::copy_bulk(lds + first + lane * row_stride, p.cache + token_slot * p.cache_row, row_bytes, barrier(stage));
    }
  }

  // The queries come by way of the last stage, which has no tokens yet.
  __device__ inline void bring_queries() const {
    if (t == 0) wt::barrier_arrive_expect(barrier(stages), heads * row_bytes);
    wt::wave_sync();
    if (t < heads) {
      wt::copy_bulk(lds + (stages - 1) * tile_bytes + t * row_stride, query(p, work, t), row_bytes, barrier(stages));
    }
  }
  __device__ inline void load_queries(wt::u32 (&q)[width / 16][4]) const {
    wt::barrier_wait(barrier(stages), 0);
    const wt::u32 from = lds + (stages - 1) * tile_bytes + lane % 16 * row_stride + lane / 16 * 16;
    WT_UNROLL
    for (int k = 0; k < width / 16; ++k) wt::ldmatrix_x4(q[k], from + k * 32);
  }

  // Whether the tile has any token at all; `own` gets the bits of this wave's.
  __device__ inline bool any_present(int stage, wt::u32& own) const {
    wt::u32 any = 0;
    WT_UNROLL
    for (int w = 0; w < waves; w += 4) {
      const wt::chunk four = *reinterpret_cast<const wt::chunk*>(present(stage) + w);
      any |= four.w[0] | four.w[1] | four.w[2] | four.w[3];
    }
    own = present(stage)[wave];
    return any != 0;
  }

  // Scores of this wave's tokens, for exponents of 2, and the largest of each row into tops(i).
  __device__ inline void score(const wt::u32 (&q)[width / 16][4], int i, wt::u32 own, float scale,
                               float (&scores)[own_groups][4]) const {
    float sums[own_groups][chains][4] = {};
    const wt::u32 from =
        lds + i % stages * tile_bytes + (wave * own_tokens + lane % 8) * row_stride + lane / 8 * 16;
    WT_UNROLL
    for (int k = 0; k < width / 32; ++k) {
      WT_UNROLL
      for (int n = 0; n < own_groups; ++n) {
        wt::u32 b[4];
        wt::ldmatrix_x4(b, from + n * 8 * row_stride + k * 64);
        wt::mma_bf16(sums[n][k * 2 % chains], q[k * 2], {b[0], b[1]});
        wt::mma_bf16(sums[n][(k * 2 + 1) % chains], q[k * 2 + 1], {b[2], b[3]});
      }
    }
    float top[2] = {no_maximum, no_maximum};
    WT_UNROLL
    for (int n = 0; n < own_groups; ++n) {
      WT_UNROLL
      for (int x = 0; x < 4; ++x) {
        float sum = sums[n][0][x];
        WT_UNROLL
        for (int c = 1; c < chains; ++c) sum += sums[n][c][x];
        scores[n][x] = (own >> (n * 8 + quad * 2 + x % 2) & 1) != 0 ? sum * scale : no_maximum;
        top[x / 2] = wt::max(top[x / 2], scores[n][x]);
      }
    }
    WT_UNROLL
    for (int h = 0; h < 2; ++h) {
      top[h] = wt::max(top[h], wt::shfl_xor(top[h], 1));
      top[h] = wt::max(top[h], wt::shfl_xor(top[h], 2));
      if (quad == 0) tops(i)[(row + h * 8) * waves + wave] = top[h];
    }
  }

  __device__ inline char* probabilities(int i) const {
    return memory + at_probabilities + i % 2 * heads * probability_bytes;
  }

  // Scores -> probabilities relative to the new maximum, to LDS; `factor` is for what was summed before. At least one
  // token of the tile is there, so that the maximum is a score.
  __device__ inline void weigh(int i, const float (&scores)[own_groups][4], float (&maximum)[2], float (&total)[2],
                               float (&factor)[2]) const {
    WT_UNROLL
    for (int h = 0; h < 2; ++h) {
      float top = maximum[h];
      WT_UNROLL
      for (int w = 0; w < waves; w += 4) {
        const wt::vec<4> four = wt::load<4>(tops(i) + (row + h * 8) * waves + w);
        top = wt::max(wt::max(top, wt::max(four[0], four[1])), wt::max(four[2], four[3]));
      }
      factor[h] = ::exp2f(maximum[h] - top);
      maximum[h] = top;
      total[h] *= factor[h];
      WT_UNROLL
      for (int n = 0; n < own_groups; ++n) {
        const float a = ::exp2f(scores[n][h * 2] - top), b = ::exp2f(scores[n][h * 2 + 1] - top);
        total[h] += a + b;
        *reinterpret_cast<wt::u32*>(probabilities(i) + (row + h * 8) * probability_bytes +
                                    (wave * own_tokens + n * 8 + quad * 2) * 2) = wt::pack_bf16(a, b);
      }
    }
  }

  __device__ inline void add_values(int i, const float (&factor)[2], float (&out)[own_tiles][4]) const {
    WT_UNROLL
    for (int c = 0; c < own_tiles; ++c) {
      WT_UNROLL
      for (int x = 0; x < 4; ++x) out[c][x] *= factor[x / 2];
    }
    const wt::u32 from_p = wt::lds_address(probabilities(i)) + lane % 16 * probability_bytes + lane / 16 * 16;
    const wt::u32 from_v =
        lds + i % stages * tile_bytes + lane % 16 * row_stride + (wave * own_cols + lane / 16 * 8) * 2;
    WT_UNROLL
    for (int k = 0; k < index_tile / 16; ++k) {
      wt::u32 a[4];
      wt::ldmatrix_x4(a, from_p + k * 32);
      WT_UNROLL
      for (int c = 0; c < own_tiles; c += 2) {
        wt::u32 b[4];
        wt::ldmatrix_x4_trans(b, from_v + k * 16 * row_stride + c * 16);
        wt::mma_bf16(out[c], a, {b[0], b[1]});
        wt::mma_bf16(out[c + 1], a, {b[2], b[3]});
      }
    }
  }

  // Sums of all waves' probabilities; all threads of a row get them.
  __device__ inline void add_totals(float (&total)[2]) const {
    __syncthreads();
    WT_UNROLL
    for (int h = 0; h < 2; ++h) {
      total[h] += wt::shfl_xor(total[h], 1);
      total[h] += wt::shfl_xor(total[h], 2);
      if (quad == 0) tops(0)[(row + h * 8) * waves + wave] = total[h];
    }
    __syncthreads();
    WT_UNROLL
    for (int h = 0; h < 2; ++h) {
      total[h] = 0.0f;
      for (int w = 0; w < waves; ++w) total[h] += tops(0)[(row + h * 8) * waves + w];
    }
  }

  // finish(block, out, maximum, total) gets the sums of this block's part: maxima in exponents of 2.
  template <class Finish>
  __device__ inline void run(const Finish& finish) const {
    init_barriers();
    wt::wait_for_predecessor();
    wt::let_successor_start();
    int next;  // slot of the tile that is brought next: read one tile ahead
    {
      int slots[stages];
      WT_UNROLL
      for (int i = 0; i < stages; ++i) slots[i] = slot(i);
      bring_queries();
      WT_UNROLL
      for (int i = 0; i < stages - 1; ++i) {
        if (i < tiles) bring(i, slots[i]);
      }
      next = slots[stages - 1];
    }
    wt::u32 q[width / 16][4];
    load_queries(q);
    float out[own_tiles][4] = {};
    float maximum[2] = {no_maximum, no_maximum}, total[2] = {0.0f, 0.0f};
    constexpr float log2_e = 1.44269504f;
    const float scale = p.scale * log2_e;
    for (int i = 0; i < tiles; ++i) {
      wt::barrier_wait(barrier(i % stages), i / stages % 2);
      wt::u32 own;
      const bool any = any_present(i % stages, own);
      float scores[own_groups][4], factor[2];
      if (any) score(q, i, own, scale, scores);
      __syncthreads();  // the waves have done with the tile before, or the queries: its stage is free
      if (i + stages - 1 < tiles) {
        bring(i + stages - 1, next);
        next = slot(i + stages);
      }
      if (!any) continue;
      weigh(i, scores, maximum, total, factor);
      __syncthreads();
      add_values(i, factor, out);
    }
    add_totals(total);
    finish(*this, out, maximum, total);
  }
};

}  // namespace mla
