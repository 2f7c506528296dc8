// One thread an element.
extern "C" __global__ void gemm_reference(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    const float a = __bfloat162float(A[static_cast<size_t>(m) * K + k]);
    const float b = __bfloat162float(B[static_cast<size_t>(n) * K + k]);
    sum += a * b;
  }
  C[static_cast<size_t>(m) * N + n] = sum;
}
