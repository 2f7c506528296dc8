// The kernel vocabulary on NVIDIA (waves of 32 lanes), through NVRTC alone: no header of CUDA's is needed.

#define WT_CUDA 1

namespace wt {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

}  // namespace wt

// What the kernels take from the compilers of the other targets and NVRTC has under other names or not at all. (Its own
// __builtin_assume_aligned around an argument of memcpy makes NVRTC 13.0 emit invalid code.)
namespace wt_cuda {

template <class Void>
struct aligned_pointer {
  Void* address;
  decltype(sizeof 0) alignment;
  __device__ __forceinline__ operator Void*() const { return address; }
};
__device__ __forceinline__ aligned_pointer<void> assume_aligned(void* p, decltype(sizeof 0) n) { return {p, n}; }
__device__ __forceinline__ aligned_pointer<const void> assume_aligned(const void* p, decltype(sizeof 0) n) {
  return {p, n};
}

template <class Word>
__device__ __forceinline__ void read_words(char* to, const char* from, decltype(sizeof 0) bytes) {
#pragma unroll
  for (decltype(sizeof 0) at = 0; at < bytes; at += sizeof(Word)) {
    const Word word = *reinterpret_cast<const Word*>(from + at);
    memcpy(to + at, &word, sizeof word);
  }
}
template <class Word>
__device__ __forceinline__ void write_words(char* to, const char* from, decltype(sizeof 0) bytes) {
#pragma unroll
  for (decltype(sizeof 0) at = 0; at < bytes; at += sizeof(Word)) {
    Word word;
    memcpy(&word, from + at, sizeof word);
    *reinterpret_cast<Word*>(to + at) = word;
  }
}

/// memcpy in the widest accesses that the promised alignment allows. Sizes and alignments are constants after inlining.
__device__ __forceinline__ void copy(void* to, aligned_pointer<const void> from, decltype(sizeof 0) bytes) {
  char* const t = static_cast<char*>(to);
  const char* const f = static_cast<const char*>(from.address);
  const auto fits = [&](decltype(sizeof 0) width) { return from.alignment % width == 0 && bytes % width == 0; };
  if (fits(16)) {
    read_words<uint4>(t, f, bytes);
  } else if (fits(8)) {
    read_words<uint2>(t, f, bytes);
  } else if (fits(4)) {
    read_words<unsigned int>(t, f, bytes);
  } else if (fits(2)) {
    read_words<unsigned short>(t, f, bytes);
  } else {
    memcpy(to, from.address, bytes);
  }
}
__device__ __forceinline__ void copy(void* to, aligned_pointer<void> from, decltype(sizeof 0) bytes) {
  copy(to, aligned_pointer<const void>{from.address, from.alignment}, bytes);
}
__device__ __forceinline__ void copy(aligned_pointer<void> to, const void* from, decltype(sizeof 0) bytes) {
  char* const t = static_cast<char*>(to.address);
  const char* const f = static_cast<const char*>(from);
  const auto fits = [&](decltype(sizeof 0) width) { return to.alignment % width == 0 && bytes % width == 0; };
  if (fits(16)) {
    write_words<uint4>(t, f, bytes);
  } else if (fits(8)) {
    write_words<uint2>(t, f, bytes);
  } else if (fits(4)) {
    write_words<unsigned int>(t, f, bytes);
  } else if (fits(2)) {
    write_words<unsigned short>(t, f, bytes);
  } else {
    memcpy(to.address, from, bytes);
  }
}
__device__ __forceinline__ void copy(void* to, const void* from, decltype(sizeof 0) bytes) { memcpy(to, from, bytes); }

__device__ __forceinline__ constexpr float infinity() { return __builtin_bit_cast(float, 0x7F800000u); }

}  // namespace wt_cuda

#define __builtin_assume_aligned wt_cuda::assume_aligned
#define __builtin_memcpy wt_cuda::copy
#define __builtin_inff wt_cuda::infinity
#define __builtin_fmaf ::fmaf

// With a bound on threads alone ptxas makes room for more blocks beside each other and spills for it: ask for one.
#undef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(WT_FIRST_AND_BLOCKS(__VA_ARGS__, 1))))
#define WT_FIRST_AND_BLOCKS(threads, blocks, ...) threads, blocks

namespace wt {

constexpr int wave_size = 32;

/// Number of the thread in its block. Blocks are wave-aligned in this order: x fastest.
__device__ inline int flat_thread() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
__device__ inline int lane() {
  u32 number;
  asm("mov.u32 %0, %%laneid;" : "=r"(number));
  return static_cast<int>(number);
}
__device__ inline int wave() { return flat_thread() / wave_size; }

// All lanes of the wave that have not ended take part in what follows.

__device__ inline int shfl(int value, int source) { return __shfl_sync(~0u, value, source); }
__device__ inline float shfl(float value, int source) { return __shfl_sync(~0u, value, source); }
__device__ inline int shfl_xor(int value, int mask) { return __shfl_xor_sync(~0u, value, mask); }
__device__ inline float shfl_xor(float value, int mask) { return __shfl_xor_sync(~0u, value, mask); }

/// Lane 0's value: the same for all lanes, and the compiler knows (registers and branches of the whole wave).
__device__ inline int uniform(int value) { return __shfl_sync(~0u, value, 0); }

/// Bit l is the predicate of lane l; the upper half is 0.
__device__ inline u64 ballot(bool predicate) { return __ballot_sync(~0u, predicate); }

__device__ inline float wave_sum(float value) {
#pragma unroll
  for (int mask = wave_size / 2; mask > 0; mask /= 2) value += shfl_xor(value, mask);
  return value;
}
__device__ inline float wave_max(float value) {
#pragma unroll
  for (int mask = wave_size / 2; mask > 0; mask /= 2) {
    const float other = shfl_xor(value, mask);
    value = value > other ? value : other;
  }
  return value;
}

__device__ inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline float rsqrt(float x) { return ::rsqrtf(x); }
/// Reduced in double: as near as sincosf, without the table that it keeps in local memory for large angles.
__device__ inline void sincos(float x, float* sine, float* cosine) {
  const double halves = x * 0.31830988618379067154;  // x / pi
  ::sincospif(static_cast<float>(halves - 2.0 * ::rint(0.5 * halves)), sine, cosine);
}

}  // namespace wt
