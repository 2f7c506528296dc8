// Much of what kernels written in plain CUDA or HIP use: every element of the result is scaled, and its block is summed.
#include <cuda_fp16.h>
#include <stdint.h>

#include "features_scale.h"

namespace demo {

__global__ void features(const half* x, const float4* bias, const uint8_t* mask, float* y, double* block_sums,
                         int* counts, const int64_t n, const float scale, bool shifted, unsigned char bits) {
  extern __shared__ float partial[];
  __shared__ int set;
  if (threadIdx.x == 0) set = 0;
  __syncthreads();
  float sum = 0.0f;
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    const float4 b = bias[i % 4];
    float value = scaled(__half2float(x[i]), scale) + (b.x + b.y * 2.0f) + fmaxf(b.z, b.w) + expf(-fabsf(b.x));
    if (shifted) value += mode_offset * (bits & 3);
    if (mask[i] != 0) {
      value = -value;
      atomicAdd(&set, 1);
    }
    y[i] = min(value, 1e6f);
    sum += value;
  }
#if use_shuffles
  for (int delta = 32; delta > 0; delta /= 2) sum += __shfl_down(sum, delta);
  if (threadIdx.x % 64 == 0) partial[threadIdx.x / 64] = sum;
  const int parts = block_size_x / 64;
#else
  partial[threadIdx.x] = sum;
  const int parts = block_size_x;
#endif
  __syncthreads();
  if (threadIdx.x != 0) return;
  double all = 0;
  for (int i = 0; i < parts; ++i) all += partial[i];
  block_sums[blockIdx.x] = all;
  atomicAdd(counts, set);
}

}  // namespace demo
