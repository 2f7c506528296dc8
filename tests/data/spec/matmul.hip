// C = A * B, row-major: A [m, k], B [k, n]. Each thread computes `rows` elements of a column of C, a block
// block_size_y * rows rows and block_size_x columns; tile_k columns of A and rows of B are staged in LDS at a time
// (use_lds = 1), or read where they are.
#include <hip/hip_runtime.h>

__global__ void __launch_bounds__(block_size_x* block_size_y)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  const int col = blockIdx.x * block_size_x + threadIdx.x;
  const int first_row = blockIdx.y * block_size_y * rows + threadIdx.y;
  float sum[rows] = {};

#if use_lds
  __shared__ float a_tile[block_size_y * rows][tile_k];
  __shared__ float b_tile[tile_k][block_size_x];
  const int thread = threadIdx.y * block_size_x + threadIdx.x;
  for (int begin = 0; begin < k; begin += tile_k) {
    for (int i = thread; i < block_size_y * rows * tile_k; i += block_size_x * block_size_y) {
      const int row = blockIdx.y * block_size_y * rows + i / tile_k, at = begin + i % tile_k;
      a_tile[i / tile_k][i % tile_k] = row < m && at < k ? a[row * k + at] : 0.0f;
    }
    for (int i = thread; i < tile_k * block_size_x; i += block_size_x * block_size_y) {
      const int at = begin + i / block_size_x, column = blockIdx.x * block_size_x + i % block_size_x;
      b_tile[i / block_size_x][i % block_size_x] = at < k && column < n ? b[at * n + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile_k; ++i) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
        sum[r] += a_tile[threadIdx.y + r * block_size_y][i] * b_tile[i][threadIdx.x];
    }
    __syncthreads();
  }
#else
  if (col < n) {
    for (int i = 0; i < k; ++i) {
      const float x = b[i * n + col];
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int row = first_row + r * block_size_y;
        if (row < m) sum[r] += a[row * k + i] * x;
      }
    }
  }
#endif

#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int row = first_row + r * block_size_y;
    if (row < m && col < n) c[row * n + col] = sum[r];
  }
}
