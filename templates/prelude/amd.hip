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

}  // namespace wt

namespace wt_amd {

/// `value` of another lane of the same row of 16, as the DPP control says, without a trip through LDS.
template <int Control>
__device__ inline float dpp(float value) {
  const int bits = __builtin_bit_cast(int, value);
  return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(bits, bits, Control, 0xF, 0xF, true));
}

/// combine(own, other) over the wave, in all lanes: neighbours, pairs, halves and whole rows of 16, then across rows.
template <class Combine>
__device__ inline float reduce(float value, const Combine& combine) {
  constexpr int swap_neighbours = 0xB1, swap_pairs = 0x4E, mirror_half_row = 0x141, mirror_row = 0x140;
  value = combine(value, dpp<swap_neighbours>(value));
  value = combine(value, dpp<swap_pairs>(value));
  value = combine(value, dpp<mirror_half_row>(value));
  value = combine(value, dpp<mirror_row>(value));
#if defined(__gfx950__)
  const auto across = [&](auto halves) {
    return combine(__builtin_bit_cast(float, halves[0]), __builtin_bit_cast(float, halves[1]));
  };
  const auto bits = [&] { return __builtin_bit_cast(unsigned int, value); };
  value = across(__builtin_amdgcn_permlane16_swap(bits(), bits(), false, false));
  value = across(__builtin_amdgcn_permlane32_swap(bits(), bits(), false, false));
#else
  value = combine(value, wt::shfl_xor(value, 16));
  value = combine(value, wt::shfl_xor(value, 32));
#endif
  return value;
}

}  // namespace wt_amd

namespace wt {

__device__ inline float wave_sum(float value) {
  return wt_amd::reduce(value, [](float a, float b) { return a + b; });
}
__device__ inline float wave_max(float value) {
  return wt_amd::reduce(value, [](float a, float b) { return a > b ? a : b; });
}

__device__ inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline float rsqrt(float x) { return ::rsqrtf(x); }
__device__ inline void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }

}  // namespace wt
