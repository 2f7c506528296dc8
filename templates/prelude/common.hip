// The part of the kernel vocabulary that is the same everywhere: element types, conversions, vector access.

// In front of a loop with constant bounds whose arrays must end up in registers.
#if defined(__GNUC__) && !defined(__clang__)
#define WT_UNROLL _Pragma("GCC unroll 64")
#else
#define WT_UNROLL _Pragma("unroll")
#endif

// In front of a loop that the CPU's compiler may leave a loop (less code). A GPU's must not: an array indexed by its counter would
// lie in scratch memory, or in LDS that nobody counted.
#if defined(__AMDGCN__)
#define WT_UNROLL_ON_GPU WT_UNROLL
#else
#define WT_UNROLL_ON_GPU
#endif

namespace wt {

/// Storage of a bfloat16 number: the upper half of a float.
struct bf16 {
  unsigned short bits;
};

template <int Code>
struct element_of;
template <>
struct element_of<0> {
  using type = float;
};
template <>
struct element_of<1> {
  using type = bf16;
};
/// Storage type of a dtype code (0 float32, 1 bfloat16).
template <int Code>
using element = typename element_of<Code>::type;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(bf16 value) { return __builtin_bit_cast(float, static_cast<u32>(value.bits) << 16); }

__device__ inline bf16 bf16_from_float(float value) {
  const u32 bits = __builtin_bit_cast(u32, value);
  const u32 rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const u32 quiet_nan = (bits >> 16) | 0x40u;
  return {static_cast<unsigned short>((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : rounded)};
}

template <class T>
struct caster;
template <>
struct caster<float> {
  static __device__ inline float from(float value) { return value; }
};
template <>
struct caster<bf16> {
  static __device__ inline bf16 from(float value) { return bf16_from_float(value); }
};
/// To storage type T, rounded to nearest even.
template <class T>
__device__ inline T cast(float value) {
  return caster<T>::from(value);
}

template <class T>
__device__ constexpr inline T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ constexpr inline T max(T a, T b) {
  return a < b ? b : a;
}

/// What holds N floats. g++ keeps a vector type in one register and an array of structs in memory, so the CPU gets the former;
/// LLVM takes arrays apart by itself, and its vector types have no references to elements.
template <int N>
struct floats {
#if defined(__clang__) || !defined(__GNUC__)
  using type = float[N];
#else
  typedef float type __attribute__((vector_size(N * sizeof(float))));
#endif
};
template <>
struct floats<1> {
  using type = float[1];
};

/// N floats in registers, whatever they are stored as. N is a power of two.
template <int N>
struct vec {
  typename floats<N>::type v;
  __device__ constexpr float& operator[](int i) { return v[i]; }
  __device__ constexpr const float& operator[](int i) const { return v[i]; }
};

/// a * b + c, element by element; with a scalar `a` the same factor for all.
template <int N>
__device__ inline vec<N> fma(const vec<N>& a, const vec<N>& b, const vec<N>& c) {
  vec<N> result;
#if defined(__clang__) || !defined(__GNUC__)
  WT_UNROLL
  for (int i = 0; i < N; ++i) result.v[i] = fma(a.v[i], b.v[i], c.v[i]);
#else
  if constexpr (N == 1) {
    result.v[0] = fma(a.v[0], b.v[0], c.v[0]);
  } else {
    result.v = a.v * b.v + c.v;
  }
#endif
  return result;
}
template <int N>
__device__ inline vec<N> fma(float a, const vec<N>& b, const vec<N>& c) {
  vec<N> result;
#if defined(__AMDGCN__)
  // In pairs: CDNA has packed float instructions.
  typedef float pair __attribute__((ext_vector_type(2)));
  WT_UNROLL
  for (int i = 0; i + 1 < N; i += 2) {
    const pair two = __builtin_elementwise_fma(pair{a, a}, pair{b.v[i], b.v[i + 1]}, pair{c.v[i], c.v[i + 1]});
    result.v[i] = two.x;
    result.v[i + 1] = two.y;
  }
  if constexpr (N == 1) result.v[0] = fma(a, b.v[0], c.v[0]);
#elif defined(__clang__) || !defined(__GNUC__)
  WT_UNROLL
  for (int i = 0; i < N; ++i) result.v[i] = fma(a, b.v[i], c.v[i]);
#else
  if constexpr (N == 1) {
    result.v[0] = fma(a, b.v[0], c.v[0]);
  } else {
    result.v = a * b.v + c.v;
  }
#endif
  return result;
}

/// Sum of the elements, in halves: ((v0 + v2) + (v1 + v3)) for N = 4.
template <int N>
__device__ inline float sum(const vec<N>& value) {
  if constexpr (N == 1) {
    return value.v[0];
  } else {
    vec<N / 2> half;
  WT_UNROLL
    for (int i = 0; i < N / 2; ++i) half[i] = value[i] + value[i + N / 2];
    return sum<N / 2>(half);
  }
}

template <class T, int N>
struct stored {
  T v[N];
};

/// One access of N elements, converted. `p` is aligned to N * sizeof(T) bytes.
template <int N, class T>
__device__ inline vec<N> load(const T* p) {
  stored<T, N> raw;
  __builtin_memcpy(&raw, __builtin_assume_aligned(p, N * sizeof(T)), sizeof raw);
  vec<N> result;
  WT_UNROLL
  for (int i = 0; i < N; ++i) result[i] = to_float(raw.v[i]);
  return result;
}
#if defined(__GNUC__) && !defined(__clang__)
template <int N>
struct bits_of {
  typedef unsigned short narrow __attribute__((vector_size(N * 2)));
  typedef u32 wide __attribute__((vector_size(N * 4)));
};
template <int N>
inline vec<N> load(const float* p) {
  vec<N> result;
  __builtin_memcpy(&result, __builtin_assume_aligned(p, N * sizeof(float)), sizeof result);
  return result;
}
template <int N>
  requires(N > 1)
inline vec<N> load(const bf16* p) {
  typename bits_of<N>::narrow raw;
  __builtin_memcpy(&raw, __builtin_assume_aligned(p, N * sizeof(bf16)), sizeof raw);
  const typename bits_of<N>::wide bits = __builtin_convertvector(raw, typename bits_of<N>::wide) << 16;
  vec<N> result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}
#endif

template <int N, class T>
__device__ inline void store(T* p, const vec<N>& value) {
  stored<T, N> raw;
  WT_UNROLL
  for (int i = 0; i < N; ++i) raw.v[i] = cast<T>(value[i]);
  __builtin_memcpy(__builtin_assume_aligned(p, N * sizeof(T)), &raw, sizeof raw);
}

/// Four values as T, for one access.
template <class T>
struct alignas(4 * sizeof(T)) run4 {
  T v[4];
};
template <class T>
__device__ inline run4<T> pack(const vec<4>& v) {
  return {cast<T>(v[0]), cast<T>(v[1]), cast<T>(v[2]), cast<T>(v[3])};
}

/// 16 bytes of one lane: 8 bf16, 16 fp8 or 32 fp4.
struct alignas(16) chunk {
  u32 w[4];
};

/// An offset that lies outside every window.
constexpr u32 outside = 0xFFFFFF00u;

}  // namespace wt
