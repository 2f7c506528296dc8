#include <cuda_bf16.h>
// C[M,N] = A[M,K] B[N,K]^T, fp32 accumulation; one thread makes a TM x TN patch, tiles of BK through shared memory.
extern "C" __global__ void gemm(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
    constexpr int TX = block_size_x, TY = block_size_y, BM = TY * TM, BN = TX * TN;
    __shared__ float As[BK][BM + PAD], Bs[BK][BN + PAD];
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN, t = threadIdx.y * TX + threadIdx.x;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = t; i < BM * BK; i += TX * TY) { int m = i / BK, k = i % BK; As[k][m] = m0 + m < M ? __bfloat162float(A[(size_t)(m0 + m) * K + k0 + k]) : 0.f; }
        for (int i = t; i < BN * BK; i += TX * TY) { int n = i / BK, k = i % BK; Bs[k][n] = n0 + n < N ? __bfloat162float(B[(size_t)(n0 + n) * K + k0 + k]) : 0.f; }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = As[k][threadIdx.y * TM + i];
            for (int j = 0; j < TN; ++j) b[j] = Bs[k][threadIdx.x * TN + j];
            for (int i = 0; i < TM; ++i) for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) for (int j = 0; j < TN; ++j) {
        int m = m0 + threadIdx.y * TM + i, n = n0 + threadIdx.x * TN + j;
        if (m < M && n < N) C[(size_t)m * N + n] = acc[i][j];
    }
}
