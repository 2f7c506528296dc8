struct Params {
  const int* ids;
  int* order;
  int* offsets;
  int* counts;  // workspace [chunks, experts]: pairs of a chunk that go to an expert; then where the first of them goes
  wt::i64 ids_row;
  int m, topk, experts, chunks;
};

__device__ inline int expert_of(const Params& p, int pair) {
  const int id = p.ids[pair / p.topk * p.ids_row + pair % p.topk];
  return wt::min(wt::max(id, 0), p.experts - 1);
}

// A chunk is as many pairs as the block has threads. LDS: the chunk's experts, then a number for each expert.
struct Chunk {
  int* experts;
  int* numbers;
  int pairs;  // in this chunk
};

__device__ inline Chunk load_chunk(const Params& p, char* lds, int chunk) {
  const int begin = chunk * cfg::threads;
  const Chunk result = {(int*)lds, (int*)lds + cfg::threads, wt::min(p.m * p.topk - begin, cfg::threads)};
  const int thread = (int)threadIdx.x;
  if (thread < result.pairs) result.experts[thread] = expert_of(p, begin + thread);
  __syncthreads();
  return result;
}

__device__ inline int count_in_chunk(const Chunk& chunk, int expert) {
  int count = 0;
  for (int i = 0; i < chunk.pairs; ++i) count += chunk.experts[i] == expert ? 1 : 0;
  return count;
}

// Writes the chunk's pairs to where their expert's first pair goes, behind those that come before them in the chunk.
__device__ inline void place_chunk(const Params& p, const Chunk& chunk, const int* first, int begin) {
  const int thread = (int)threadIdx.x;
  if (thread >= chunk.pairs) return;
  const int expert = chunk.experts[thread];
  int rank = 0;
  for (int i = 0; i < thread; ++i) rank += chunk.experts[i] == expert ? 1 : 0;
  p.order[first[expert] + rank] = begin + thread;
}

// All pairs in one block: one thread that takes any number of them, or at most as many pairs as threads.
extern "C" __global__ __launch_bounds__(cfg::threads) void moe_sort_one(Params p) {
  overlap::begin();
  extern __shared__ char lds[];
  const int thread = (int)threadIdx.x;
  if constexpr (block::serial) {
    int* first = (int*)lds;
    const int pairs = p.m * p.topk;
    for (int e = 0; e < p.experts; ++e) first[e] = 0;
    for (int pair = 0; pair < pairs; ++pair) ++first[expert_of(p, pair)];
    block::exclusive_sums(first, p.experts);
    for (int e = 0; e <= p.experts; ++e) p.offsets[e] = first[e];
    for (int pair = 0; pair < pairs; ++pair) p.order[first[expert_of(p, pair)]++] = pair;
  } else {
    const Chunk chunk = load_chunk(p, lds, 0);
    for (int e = thread; e < p.experts; e += cfg::threads) chunk.numbers[e] = count_in_chunk(chunk, e);
    __syncthreads();
    block::exclusive_sums(chunk.numbers, p.experts);
    __syncthreads();
    for (int e = thread; e <= p.experts; e += cfg::threads) p.offsets[e] = chunk.numbers[e];
    place_chunk(p, chunk, chunk.numbers, 0);
  }
}

// More pairs: count each chunk, add up over chunks and experts in one block, place each chunk.
extern "C" __global__ __launch_bounds__(cfg::threads) void moe_sort_count(Params p) {
  overlap::begin();
  extern __shared__ char lds[];
  const Chunk chunk = load_chunk(p, lds, (int)blockIdx.x);
  int* counts = p.counts + (wt::i64)blockIdx.x * p.experts;
  for (int e = (int)threadIdx.x; e < p.experts; e += cfg::threads) counts[e] = count_in_chunk(chunk, e);
}

extern "C" __global__ __launch_bounds__(cfg::threads) void moe_sort_sums(Params p) {
  overlap::begin();
  extern __shared__ char lds[];
  int* totals = (int*)lds;
  const int thread = (int)threadIdx.x;
  for (int e = thread; e < p.experts; e += cfg::threads) {
    int total = 0;
    for (int chunk = 0; chunk < p.chunks; ++chunk) total += p.counts[(wt::i64)chunk * p.experts + e];
    totals[e] = total;
  }
  block::sync();
  block::exclusive_sums(totals, p.experts);
  block::sync();
  for (int e = thread; e <= p.experts; e += cfg::threads) p.offsets[e] = totals[e];
  for (int e = thread; e < p.experts; e += cfg::threads) {
    int first = totals[e];
    for (int chunk = 0; chunk < p.chunks; ++chunk) {
      int* place = p.counts + (wt::i64)chunk * p.experts + e;
      const int count = *place;
      *place = first;
      first += count;
    }
  }
}

extern "C" __global__ __launch_bounds__(cfg::threads) void moe_sort_place(Params p) {
  overlap::begin();
  extern __shared__ char lds[];
  const int index = (int)blockIdx.x;
  const Chunk chunk = load_chunk(p, lds, index);
  place_chunk(p, chunk, p.counts + (wt::i64)index * p.experts, index * cfg::threads);
}
