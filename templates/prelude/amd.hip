// The kernel vocabulary on AMD CDNA (gfx90a and newer: waves of 64 lanes), through hipRTC.

namespace wt {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int wave_size = 64;

/// Number of the thread in its block. Blocks are wave-aligned in this order: x fastest.
__device__ inline int flat_thread() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
__device__ inline int lane() {
  return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)));
}
/// Uniform over the wave, and told so to the compiler: addresses made from it stay in scalar registers.
__device__ inline int wave() { return __builtin_amdgcn_readfirstlane(flat_thread() / wave_size); }

__device__ inline int shfl(int value, int source) { return __builtin_amdgcn_ds_bpermute(source << 2, value); }
__device__ inline float shfl(float value, int source) {
  return __builtin_bit_cast(float, shfl(__builtin_bit_cast(int, value), source));
}
__device__ inline int shfl_xor(int value, int mask) { return shfl(value, lane() ^ mask); }
__device__ inline float shfl_xor(float value, int mask) { return shfl(value, lane() ^ mask); }

/// Bit l is the predicate of lane l.
__device__ inline u64 ballot(bool predicate) { return __builtin_amdgcn_ballot_w64(predicate); }

__device__ inline float wave_sum(float value) {
#pragma unroll
  for (int mask = wave_size / 2; mask != 0; mask /= 2) value += shfl_xor(value, mask);
  return value;
}
__device__ inline float wave_max(float value) {
#pragma unroll
  for (int mask = wave_size / 2; mask != 0; mask /= 2) {
    const float other = shfl_xor(value, mask);
    value = value > other ? value : other;
  }
  return value;
}

__device__ inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline float rsqrt(float x) { return ::rsqrtf(x); }
__device__ inline void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }

}  // namespace wt
