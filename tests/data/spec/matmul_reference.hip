// What matmul.hip must compute, as plainly as it can be said: one thread an element.
__global__ void matmul_reference(const float* a, const float* b, float* c, int m, int n, int k) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (col >= n) return;
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += static_cast<double>(a[row * k + i]) * b[i * n + col];
  c[row * n + col] = static_cast<float>(sum);
}
