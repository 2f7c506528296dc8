struct Params {
  const float* scores;
  const int* positions;
  const int* sequence;
  const int* block_table;
  int* indices;
  wt::i64 scores_row, table_row, indices_row;
  int context, sequences, pages;
};

constexpr int bins = 1 << cfg::radix_bits;
constexpr int waves = block::serial ? 1 : cfg::threads / wt::wave_size;

struct Lds {
  int histogram[bins];
  int bin, above;                   // where the wanted score is, and how many scores are in higher bins
  int greater[waves], equal[waves]; // in each wave's part of the row
};

__device__ inline int bit_count(wt::u64 x) {
  x -= (x >> 1) & 0x5555555555555555ull;
  x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Full;
  return (int)((x * 0x0101010101010101ull) >> 56);
}

// Sets lds.bin to the bin that holds the `wanted`-th largest, and lds.above. bin_count is a multiple of the wave size.
__device__ inline void find_bin(Lds& lds, int bin_count, int wanted) {
  if constexpr (block::serial) {
    int above = 0, bin = bin_count - 1;
    while (above + lds.histogram[bin] < wanted) above += lds.histogram[bin--];
    lds.bin = bin;
    lds.above = above;
  } else if ((int)threadIdx.x < wt::wave_size) {
    const int each = bin_count / wt::wave_size;
    const int highest = bin_count - 1 - wt::lane() * each;  // lane 0 takes the highest bins
    int sum = 0;
    for (int i = 0; i < each; ++i) sum += lds.histogram[highest - i];
    const int last = block::inclusive_sum(sum);
    int above = last - sum;
    if (above < wanted && wanted <= last) {
      int bin = highest;
      while (above + lds.histogram[bin] < wanted) above += lds.histogram[bin--];
      lds.bin = bin;
      lds.above = above;
    }
  }
}

// The topk-th largest of scores[0 .. count) as a key, digit by digit from the top. `ties`: how many scores equal to it
// belong to the topk largest.
__device__ inline wt::u32 select_threshold(Lds& lds, const float* scores, int count, int& ties) {
  const int thread = (int)threadIdx.x;
  wt::u32 threshold = 0;
  ties = cfg::topk;
  for (int top = 32; top > 0;) {
    const int low = wt::max(top - cfg::radix_bits, 0);
    const int bin_count = 1 << (top - low);
    for (int bin = thread; bin < bin_count; bin += cfg::threads) lds.histogram[bin] = 0;
    block::sync();
    for (int s = thread; s < count; s += cfg::threads) {
      const wt::u32 key = order::of(scores[s]);
      if (!order::same_above(key, threshold, top)) continue;
      int* bin = &lds.histogram[(key >> low) & (wt::u32)(bin_count - 1)];
      if constexpr (block::serial) {
        ++*bin;
      } else {
        atomicAdd(bin, 1);  // of integers: any order gives the same counts
      }
    }
    block::sync();
    find_bin(lds, bin_count, ties);
    block::sync();
    threshold |= (wt::u32)lds.bin << low;
    ties -= lds.above;
    top = low;
    block::sync();
  }
  return threshold;
}

__device__ inline void list_serially(const Params& p, const float* scores, const int* table_row, int* indices,
                                     int count, wt::u32 threshold, int ties) {
  int at = 0;
  for (int s = 0; s < count; ++s) {
    const wt::u32 key = order::of(scores[s]);
    if (key < threshold || (key == threshold && ties-- <= 0)) continue;
    indices[at++] = paged::slot(table_row, p.pages, s);
  }
}

// Each wave lists its contiguous part of the row, behind what the waves before it list.
__device__ inline void list_by_waves(const Params& p, Lds& lds, const float* scores, const int* table_row, int* indices,
                                     int count, wt::u32 threshold, int ties) {
  const int each = (count + waves * wt::wave_size - 1) / (waves * wt::wave_size) * wt::wave_size;
  const int wave = wt::wave();
  const int begin = wt::min(wave * each, count);
  const int end = wt::min(begin + each, count);
  int greater = 0, equal = 0;
  for (int base = begin; base < end; base += wt::wave_size) {
    const int s = base + wt::lane();
    const wt::u32 key = s < end ? order::of(scores[s]) : 0;
    greater += bit_count(wt::ballot(s < end && key > threshold));
    equal += bit_count(wt::ballot(s < end && key == threshold));
  }
  if (wt::lane() == 0) {
    lds.greater[wave] = greater;
    lds.equal[wave] = equal;
  }
  __syncthreads();
  greater = 0;
  equal = 0;
  for (int i = 0; i < wave; ++i) {
    greater += lds.greater[i];
    equal += lds.equal[i];
  }
  const wt::u64 lower_lanes = (1ull << wt::lane()) - 1;
  for (int base = begin; base < end; base += wt::wave_size) {
    const int s = base + wt::lane();
    const wt::u32 key = s < end ? order::of(scores[s]) : 0;
    const bool above = s < end && key > threshold;
    const bool tied = s < end && key == threshold;
    const wt::u64 above_lanes = wt::ballot(above);
    const wt::u64 tied_lanes = wt::ballot(tied);
    const int tied_before = equal + bit_count(tied_lanes & lower_lanes);
    if (above || (tied && tied_before < ties)) {
      indices[greater + bit_count(above_lanes & lower_lanes) + wt::min(tied_before, ties)] =
          paged::slot(table_row, p.pages, s);
    }
    greater += bit_count(above_lanes);
    equal += bit_count(tied_lanes);
  }
}

extern "C" __global__ __launch_bounds__(cfg::threads) void topk_select_main(Params p) {
  overlap::begin();
  __shared__ Lds lds;
  const int row = (int)blockIdx.x;
  const int thread = (int)threadIdx.x;
  const float* scores = p.scores + row * p.scores_row;
  const int sequence = p.sequence[row];
  const int* table_row = p.block_table + sequence * p.table_row;
  int* indices = p.indices + row * p.indices_row;
  const bool known = sequence >= 0 && sequence < p.sequences;
  const int count = known ? wt::min(p.positions[row] + 1, p.context) : 0;
  if (count <= cfg::topk) {
    for (int s = thread; s < cfg::topk; s += cfg::threads) {
      indices[s] = s < count ? paged::slot(table_row, p.pages, s) : -1;
    }
    return;
  }
  int ties;
  const wt::u32 threshold = select_threshold(lds, scores, count, ties);
  if constexpr (block::serial) {
    list_serially(p, scores, table_row, indices, count, threshold, ties);
  } else {
    list_by_waves(p, lds, scores, table_row, indices, count, threshold, ties);
  }
}
