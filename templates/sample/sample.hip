struct Params {
  const float* logits;
  const float* temperature;
  const float* top_p;
  const float* uniform;
  int* token;
  wt::i64 logits_row, logits_rank;
  int shard, ranks;  // columns of a rank, and ranks
};

constexpr int waves = block::serial ? 1 : cfg::threads / wt::wave_size;
constexpr int digit_bits = 4;
constexpr int digits = 1 << digit_bits;
constexpr int group = 32;  // threads whose masses are added up by one
constexpr int groups = (cfg::threads + group - 1) / group;

struct Lds {
  float best[waves];
  int best_id[waves];
  float sums[waves][digits];
  int ties[cfg::threads + 1];  // before a thread's part of the vocabulary
  double mass[cfg::threads];   // kept probability in a thread's part
  double group_mass[groups];
  double before, goal;
  int winner;
};

// A row of logits, in shards by rank; its ids are 0 .. size().
struct Row {
  const float* first;
  wt::i64 rank_stride;
  int shard, ranks;

  __device__ int size() const { return shard * ranks; }
  // body(logit, id), ids interleaved over the threads.
  template <class Body>
  __device__ void for_each(Body body) const {
    for (int rank = 0; rank < ranks; ++rank) {
      const float* part = first + rank * rank_stride;
      for (int col = (int)threadIdx.x; col < shard; col += cfg::threads) body(part[col], rank * shard + col);
    }
  }
  // body(logit, id) -> go on?, the thread's own contiguous part of the ids in ascending order.
  template <class Body>
  __device__ void for_own(Body body) const {
    const int each = (size() + cfg::threads - 1) / cfg::threads;
    const int begin = wt::min((int)threadIdx.x * each, size());
    const int end = wt::min(begin + each, size());
    int rank = begin / shard, col = begin % shard;
    for (int id = begin; id < end; ++id) {
      if (!body(first[rank * rank_stride + col], id)) return;
      if (++col == shard) {
        col = 0;
        ++rank;
      }
    }
  }
};

struct Best {
  float logit;
  int id;
  __device__ void take(float other, int other_id) {
    if (other > logit || (other == logit && other_id < id)) {
      logit = other;
      id = other_id;
    }
  }
};

// The largest logit, the lowest id among equals; id 0 when all are NaN.
__device__ inline Best find_best(Lds& lds, const Row& row) {
  Best best = {-__builtin_inff(), row.size()};
  row.for_each([&](float logit, int id) { best.take(logit, id); });
  if constexpr (!block::serial) {
    for (int mask = wt::wave_size / 2; mask > 0; mask /= 2) {
      const float other = wt::shfl_xor(best.logit, mask);
      const int other_id = wt::shfl_xor(best.id, mask);
      best.take(other, other_id);
    }
    if (wt::lane() == 0) {
      lds.best[wt::wave()] = best.logit;
      lds.best_id[wt::wave()] = best.id;
    }
    __syncthreads();
    for (int wave = 0; wave < waves; ++wave) best.take(lds.best[wave], lds.best_id[wave]);
  }
  if (best.id == row.size()) best.id = 0;
  return best;
}

// Sums of `count` values over the block, the same for all threads. `values` is replaced.
template <int COUNT>
__device__ inline void block_sums(Lds& lds, float (&values)[COUNT]) {
  if constexpr (!block::serial) {
    for (int i = 0; i < COUNT; ++i) {
      const float sum = wt::wave_sum(values[i]);
      if (wt::lane() == 0) lds.sums[wt::wave()][i] = sum;
    }
    __syncthreads();
    for (int i = 0; i < COUNT; ++i) values[i] = 0.0f;
#pragma unroll 1  // all loads at once would spill
    for (int wave = 0; wave < waves; ++wave) {
#pragma unroll
      for (int i = 0; i < COUNT; ++i) values[i] += lds.sums[wave][i];
    }
    __syncthreads();
  }
}

// What a thread adds up probabilities in: a single thread has the whole vocabulary, one of many has few of them.
template <bool SERIAL>
struct MassOf {
  using type = float;
};
template <>
struct MassOf<true> {
  using type = double;
};
using Mass = MassOf<block::serial>::type;

// The tokens that top-p keeps: those above the threshold, and the first `ties` of those at it.
struct Kept {
  wt::u32 threshold;
  int ties;
};

// Finds the threshold digit by digit from the top, by the probability at and above each digit.
template <class Weight>
__device__ inline Kept top_p_threshold(Lds& lds, const Row& row, float wanted, Weight weight) {
  wt::u32 threshold = 0;
  float above = 0.0f;
  for (int low = 32 - digit_bits; low >= 0; low -= digit_bits) {
    Mass masses[digits] = {};
    row.for_each([&](float logit, int) {
      const wt::u32 key = order::of(logit);
      if (!order::same_above(key, threshold, low + digit_bits)) return;
      const int digit = (int)(key >> low) & (digits - 1);
      const Mass mass = weight(logit);
      if constexpr (block::serial) {
        masses[digit] += mass;
      } else {
#pragma unroll
        for (int i = 0; i < digits; ++i) masses[i] += digit == i ? mass : (Mass)0;  // no indexing: stays in registers
      }
    });
    float sums[digits];
    for (int i = 0; i < digits; ++i) sums[i] = (float)masses[i];
    block_sums(lds, sums);
    // Where rounding leaves less than is wanted, the lowest digit that has any.
    int chosen = digits - 1;
    float chosen_above = above, running = above;
    bool enough = false;
    for (int i = digits - 1; i >= 0; --i) {
      if (enough || sums[i] <= 0.0f) continue;
      chosen = i;
      chosen_above = running;
      running += sums[i];
      enough = running >= wanted;
    }
    threshold |= (wt::u32)chosen << low;
    above = chosen_above;
  }
  const float each = weight(order::value(threshold));
  const float ties = (wanted - above) / each;
  // Bounded before the conversion: `each` may be zero.
  return {threshold, ties < (float)row.size() ? wt::max((int)ties + ((float)(int)ties < ties ? 1 : 0), 1) : row.size()};
}

// Draws among the kept tokens: the first in ascending id order whose cumulative share exceeds `uniform`.
template <class Weight>
__device__ inline void draw(Lds& lds, const Row& row, const Kept& kept, float uniform, Weight weight, int* token) {
  const int thread = (int)threadIdx.x;
  int own_ties = 0;
  row.for_own([&](float logit, int) {
    own_ties += order::of(logit) == kept.threshold ? 1 : 0;
    return true;
  });
  lds.ties[thread] = own_ties;
  block::sync();
  block::exclusive_sums(lds.ties, cfg::threads);
  block::sync();
  // Probability of a token if it is kept, else 0. To be called in ascending id order.
  const auto make_mass = [&](int ties_before) {
    return [&, ties_before](float logit) mutable {
      const wt::u32 key = order::of(logit);
      if (key < kept.threshold || (key == kept.threshold && ties_before++ >= kept.ties)) return 0.0;
      return (double)weight(logit);
    };
  };
  double own = 0.0;
  auto mass = make_mass(lds.ties[thread]);
  row.for_own([&](float logit, int) {
    own += mass(logit);
    return true;
  });
  lds.mass[thread] = own;
  block::sync();
  if (thread < groups) {
    double sum = 0.0;
    for (int i = thread * group; i < wt::min((thread + 1) * group, cfg::threads); ++i) sum += lds.mass[i];
    lds.group_mass[thread] = sum;
  }
  block::sync();
  if (thread == 0) {
    double total = 0.0;
    for (int i = 0; i < groups; ++i) total += lds.group_mass[i];
    const double goal = uniform * total;
    // The last group, then the last thread, that has anything is taken when rounding keeps all sums below the goal.
    int chosen = 0;
    double running = 0.0, before = 0.0;
    for (int i = 0; i < groups && running <= goal; ++i) {
      if (lds.group_mass[i] <= 0.0) continue;
      chosen = i;
      before = running;
      running += lds.group_mass[i];
    }
    running = before;
    lds.winner = chosen * group;
    for (int i = chosen * group; i < wt::min((chosen + 1) * group, cfg::threads) && running <= goal; ++i) {
      if (lds.mass[i] <= 0.0) continue;
      lds.winner = i;
      before = running;
      running += lds.mass[i];
    }
    lds.before = before;
    lds.goal = goal;
  }
  block::sync();
  if (thread != lds.winner) return;
  double running = lds.before;
  auto again = make_mass(lds.ties[thread]);
  row.for_own([&](float logit, int id) {
    const double probability = again(logit);
    if (probability <= 0.0) return true;
    *token = id;
    running += probability;
    return running <= lds.goal;
  });
}

extern "C" __global__ __launch_bounds__(cfg::threads) void sample_main(Params p) {
  overlap::begin();
  __shared__ Lds lds;
  const int index = (int)blockIdx.x;
  const Row row = {p.logits + index * p.logits_row, p.logits_rank, p.shard, p.ranks};
  const Best best = find_best(lds, row);
  if (threadIdx.x == 0) p.token[index] = best.id;
  const float temperature = p.temperature[index];
  if (!(temperature > 0.0f) || !(best.logit < __builtin_inff())) return;
  block::sync();  // the winner of the draw writes over the best token

  const auto weight = [=](float logit) { return wt::exp((logit - best.logit) / temperature); };
  Kept kept = {0, 0};  // everything
  const float top_p = p.top_p[index];
  if (top_p < 1.0f) {
    double own = 0.0;
    row.for_each([&](float logit, int) { own += weight(logit); });
    float total[1] = {(float)own};
    block_sums(lds, total);
    kept = top_p_threshold(lds, row, top_p * total[0], weight);
  }
  draw(lds, row, kept, p.uniform[index], weight, p.token + index);
}
