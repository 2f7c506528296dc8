// Sums over the threads of a row, in a fixed order: the same input gives the same bits in every run.

namespace rows {

constexpr int scratch_floats = cfg::threads / wt::wave_size + 1;

// Sum of `value` over the cfg::threads_per_row threads of a row, for all of them. All threads of the block must call.
// scratch: scratch_floats floats of LDS; unused (may be null) when a row fits in a wave.
__device__ inline float sum(float value, [[maybe_unused]] float* scratch) {
  if constexpr (cfg::threads_per_row > 1) {
    constexpr int inside = cfg::threads_per_row < wt::wave_size ? cfg::threads_per_row : wt::wave_size;
    for (int mask = inside / 2; mask > 0; mask /= 2) value += wt::shfl_xor(value, mask);
  }
  if constexpr (cfg::threads_per_row > wt::wave_size) {
    constexpr int waves = cfg::threads_per_row / wt::wave_size;
    if (wt::lane() == 0) scratch[wt::wave()] = value;
    __syncthreads();
    const int first = wt::wave() / waves * waves;
    value = 0.0f;
    for (int i = 0; i < waves; ++i) value += scratch[first + i];
    __syncthreads();  // the caller may reduce again with the same scratch
  }
  return value;
}

}  // namespace rows
