struct Params {
  const float* logits;
  const float* bias;
  int* ids;
  float* weights;
  wt::i64 logits_row, ids_row, weights_row;
  int m, experts, topk, shared;
  float scale;
  int norm;
};

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + wt::exp(-x)); }

// cfg::threads_per_row lanes of one wave choose the experts of a token, one after the other. A lane reads and writes
// only its own experts' scores in LDS, so that nobody waits.
extern "C" __global__ __launch_bounds__(cfg::threads) void router_main(Params p) {
  overlap::begin();
  constexpr float lowest = -3.402823466e38f;
  constexpr float taken = -__builtin_inff();
  extern __shared__ char lds[];
  const int thread = rows::thread_in_row();
  const wt::i64 row = rows::row_of_thread();
  float* biased = (float*)lds + (int)threadIdx.x / cfg::threads_per_row * p.experts;
  // Lanes beyond the last row take part in the shuffles with no experts.
  const int experts = row < p.m ? p.experts : 0;
  const bool writes = row < p.m && thread == 0;
  const float* logits = p.logits + row * p.logits_row;
  int* ids = p.ids + row * p.ids_row;
  float* weights = p.weights + row * p.weights_row;

  for (int e = thread; e < experts; e += cfg::threads_per_row) {
    const float score = sigmoid(logits[e]) + p.bias[e];
    biased[e] = score > lowest ? score : lowest;  // NaN and -inf too: above `taken`, so that ids stay inside
  }
  float sum = 0.0f;
  for (int j = 0; j < p.topk; ++j) {
    float best = taken;
    int id = p.experts;
    for (int e = thread; e < experts; e += cfg::threads_per_row) {
      if (biased[e] > best) {
        best = biased[e];
        id = e;
      }
    }
    if constexpr (cfg::threads_per_row > 1) {
      for (int mask = cfg::threads_per_row / 2; mask > 0; mask /= 2) {
        const float other = wt::shfl_xor(best, mask);
        const int other_id = wt::shfl_xor(id, mask);
        if (other > best || (other == best && other_id < id)) {
          best = other;
          id = other_id;
        }
      }
    }
    if (experts > 0 && id % cfg::threads_per_row == thread) biased[id] = taken;
    if (writes) {
      const float weight = sigmoid(logits[id]);
      ids[j] = id;
      weights[j] = weight;
      sum += weight;
    }
  }
  if (!writes) return;
  const float divisor = p.norm != 0 ? sum + 1e-20f : 1.0f;
  for (int j = 0; j < p.topk; ++j) weights[j] = weights[j] / divisor * p.scale;
  for (int j = 0; j < p.shared; ++j) {
    ids[p.topk + j] = p.experts + j;
    weights[p.topk + j] = 1.0f;
  }
}
