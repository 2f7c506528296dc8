// Block-wide integer sums for kernels with cfg::threads threads: one (plain loops, no waiting) or whole waves.

namespace block {

constexpr bool serial = cfg::threads == 1;

__device__ inline void sync() {
  if constexpr (!serial) __syncthreads();
}

// Sum of the values of the wave's lanes up to and with the own one. All lanes of the wave must call.
__device__ inline int inclusive_sum(int value) {
  const int lane = wt::lane();
  for (int distance = 1; distance < wt::wave_size; distance *= 2) {
    const int other = wt::shfl(value, wt::max(lane - distance, 0));
    if (lane >= distance) value += other;
  }
  return value;
}

// Replaces values[0 .. count) in LDS by the sums of those before each, and sets values[count] to the total. All threads
// call; the caller synchronises before, and after before reading.
__device__ inline void exclusive_sums(int* values, int count) {
  if constexpr (serial) {
    int before = 0;
    for (int i = 0; i < count; ++i) {
      const int value = values[i];
      values[i] = before;
      before += value;
    }
    values[count] = before;
  } else if ((int)threadIdx.x < wt::wave_size) {
    const int each = (count + wt::wave_size - 1) / wt::wave_size;
    const int begin = wt::min(wt::lane() * each, count);
    const int end = wt::min(begin + each, count);
    int sum = 0;
    for (int i = begin; i < end; ++i) sum += values[i];
    int before = inclusive_sum(sum) - sum;
    for (int i = begin; i < end; ++i) {
      const int value = values[i];
      values[i] = before;
      before += value;
    }
    if (wt::lane() == wt::wave_size - 1) values[count] = before;
  }
}

}  // namespace block
