// What kernels written in plain HIP or CUDA use beyond the preludes' own needs: what hipRTC lacks without headers, and for the CPU
// what hipRTC has. No headers here either, so that compiling a kernel stays fast.

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef decltype(sizeof(0)) size_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#if defined(WT_CUDA)
#define __FLT_MAX__ 3.40282347e+38f
#define __FLT_MIN__ 1.17549435e-38f
#define __FLT_EPSILON__ 1.19209290e-7f
#define __DBL_MAX__ 1.7976931348623157e+308
#define __DBL_MIN__ 2.2250738585072014e-308
#define __DBL_EPSILON__ 2.2204460492503131e-16
#define __INT_MAX__ 2147483647
#define __builtin_nanf(text) (__int_as_float(0x7FC00000))
#endif
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (2u * __INT_MAX__ + 1u)
#define M_PI 3.14159265358979323846
#define assert(condition) ((void)0)
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z

/// bfloat16: stored so, calculated with as float.
struct __hip_bfloat16 {
  wt::bf16 value;
  __hip_bfloat16() = default;
  __device__ __hip_bfloat16(float x) : value(wt::bf16_from_float(x)) {}
  __device__ operator float() const { return wt::to_float(value); }
};
typedef __hip_bfloat16 __nv_bfloat16;
__device__ inline float __bfloat162float(__hip_bfloat16 x) { return x; }
__device__ inline __hip_bfloat16 __float2bfloat16(float x) { return x; }

#if defined(WAVETUNE_CPU_ABI)

typedef __hip_bfloat16 hip_bfloat16;
#define warpSize 64
extern "C" int printf(const char*, ...);

// libm's functions by their C names, double and float, and the float overloads of C++.
#define WT_PLAIN_1(name)                              \
  extern "C" double name(double) noexcept;            \
  extern "C" float name##f(float) noexcept;           \
  inline float name(float x) { return name##f(x); }   \
  inline double name(int x) { return name(static_cast<double>(x)); }
#define WT_PLAIN_2(name)                              \
  extern "C" double name(double, double) noexcept;    \
  extern "C" float name##f(float, float) noexcept;    \
  inline float name(float x, float y) { return name##f(x, y); }
WT_PLAIN_1(sqrt) WT_PLAIN_1(cbrt) WT_PLAIN_1(exp) WT_PLAIN_1(exp2) WT_PLAIN_1(expm1) WT_PLAIN_1(log) WT_PLAIN_1(log2)
WT_PLAIN_1(log10) WT_PLAIN_1(log1p) WT_PLAIN_1(sin) WT_PLAIN_1(cos) WT_PLAIN_1(tan) WT_PLAIN_1(asin) WT_PLAIN_1(acos)
WT_PLAIN_1(atan) WT_PLAIN_1(sinh) WT_PLAIN_1(cosh) WT_PLAIN_1(tanh) WT_PLAIN_1(erf) WT_PLAIN_1(erfc) WT_PLAIN_1(floor)
WT_PLAIN_1(ceil) WT_PLAIN_1(trunc) WT_PLAIN_1(round) WT_PLAIN_1(rint) WT_PLAIN_1(nearbyint) WT_PLAIN_1(fabs)
WT_PLAIN_2(pow) WT_PLAIN_2(atan2) WT_PLAIN_2(fmod) WT_PLAIN_2(fmin) WT_PLAIN_2(fmax) WT_PLAIN_2(hypot) WT_PLAIN_2(copysign)
WT_PLAIN_2(fdim)
#undef WT_PLAIN_1
#undef WT_PLAIN_2
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline void sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
inline void sincos(double x, double* sine, double* cosine) { *sine = sin(x), *cosine = cos(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __saturatef(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }
inline int __mul24(int x, int y) { return x * y; }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

template <class A, class B>
inline auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <class A, class B>
inline auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
template <class T>
inline T __ldg(const T* place) {
  return *place;
}

inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
/// The lanes of a wave meet.
inline void __syncwarp(unsigned long long = ~0ull) { (void)wt_cpu::shuffle(0, 0); }

// Lanes are numbered within groups of `width`, as HIP numbers them; a lane outside of the group reads its own value.
namespace wt_plain {
inline int lane() { return static_cast<int>(wt_cpu::self.flat % wt_cpu::wave_lanes); }
}  // namespace wt_plain
template <class T>
inline T __shfl(T value, int source, int width = 64) {
  return wt_cpu::shuffle(value, static_cast<unsigned>((wt_plain::lane() & ~(width - 1)) + (source & (width - 1))));
}
template <class T>
inline T __shfl_xor(T value, int mask, int width = 64) {
  const int lane = wt_plain::lane(), source = lane ^ mask;
  return wt_cpu::shuffle(value, static_cast<unsigned>(source >= ((lane + width) & ~(width - 1)) ? lane : source & 63));
}
template <class T>
inline T __shfl_down(T value, unsigned delta, int width = 64) {
  const int lane = wt_plain::lane(), source = lane + static_cast<int>(delta);
  return wt_cpu::shuffle(value, static_cast<unsigned>((lane & (width - 1)) + static_cast<int>(delta) >= width ? lane : source & 63));
}
template <class T>
inline T __shfl_up(T value, unsigned delta, int width = 64) {
  const int lane = wt_plain::lane(), source = lane - static_cast<int>(delta);
  return wt_cpu::shuffle(value, static_cast<unsigned>(source < (lane & ~(width - 1)) ? lane : source));
}
template <class T>
inline T __shfl_sync(unsigned long long, T value, int source, int width = 64) { return __shfl(value, source, width); }
template <class T>
inline T __shfl_xor_sync(unsigned long long, T value, int mask, int width = 64) { return __shfl_xor(value, mask, width); }
template <class T>
inline T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = 64) { return __shfl_down(value, delta, width); }
template <class T>
inline T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = 64) { return __shfl_up(value, delta, width); }
inline unsigned long long __ballot(int predicate) { return wt::ballot(predicate != 0); }
inline int __any(int predicate) { return wt::ballot(predicate != 0) != 0; }
inline int __all(int predicate) { return wt::ballot(predicate == 0) == 0; }

inline double atomicAdd(double* place, double value) {
  double old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  for (;;) {
    double sum = old + value;
    if (__atomic_compare_exchange(place, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}
inline unsigned long long atomicAdd(unsigned long long* place, unsigned long long value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }
template <class T>
inline T atomicSub(T* place, T value) { return __atomic_fetch_sub(place, value, __ATOMIC_RELAXED); }
template <class T>
inline T atomicAnd(T* place, T value) { return __atomic_fetch_and(place, value, __ATOMIC_RELAXED); }
template <class T>
inline T atomicOr(T* place, T value) { return __atomic_fetch_or(place, value, __ATOMIC_RELAXED); }
template <class T>
inline T atomicXor(T* place, T value) { return __atomic_fetch_xor(place, value, __ATOMIC_RELAXED); }
template <class T>
inline T atomicExch(T* place, T value) {
  T old;
  __atomic_exchange(place, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
inline T atomicCAS(T* place, T expected, T value) {
  __atomic_compare_exchange(place, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T>
inline T atomicMax(T* place, T value) {
  T old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  while (old < value && !__atomic_compare_exchange(place, &old, &value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
inline T atomicMin(T* place, T value) {
  T old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  while (value < old && !__atomic_compare_exchange(place, &old, &value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}

// Vector types, with HIP's arithmetic: component by component, and with a scalar.
#define WT_PLAIN_OPERATORS(V, T, EACH)                                                        \
  inline V operator+(V a, V b) { EACH(a, +=, b) return a; }                                   \
  inline V operator-(V a, V b) { EACH(a, -=, b) return a; }                                   \
  inline V operator*(V a, V b) { EACH(a, *=, b) return a; }                                   \
  inline V operator/(V a, V b) { EACH(a, /=, b) return a; }                                   \
  inline V& operator+=(V& a, V b) { EACH(a, +=, b) return a; }                                \
  inline V& operator-=(V& a, V b) { EACH(a, -=, b) return a; }                                \
  inline V& operator*=(V& a, V b) { EACH(a, *=, b) return a; }                                \
  inline V operator*(V a, T s) { return a * V::all(s); }                                      \
  inline V operator*(T s, V a) { return V::all(s) * a; }                                      \
  inline V operator/(V a, T s) { return a / V::all(s); }                                      \
  inline V& operator*=(V& a, T s) { return a *= V::all(s); }
#define WT_PLAIN_EACH2(a, op, b) a.x op b.x; a.y op b.y;
#define WT_PLAIN_EACH3(a, op, b) a.x op b.x; a.y op b.y; a.z op b.z;
#define WT_PLAIN_EACH4(a, op, b) a.x op b.x; a.y op b.y; a.z op b.z; a.w op b.w;
#define WT_PLAIN_VECTORS(N, T)                                                                                    \
  struct N##1 { T x; };                                                                                           \
  struct alignas(2 * sizeof(T)) N##2 { T x, y; static N##2 all(T s) { return {s, s}; } };                         \
  struct N##3 { T x, y, z; static N##3 all(T s) { return {s, s, s}; } };                                          \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) N##4 { T x, y, z, w; static N##4 all(T s) { return {s, s, s, s}; } }; \
  inline N##1 make_##N##1(T x) { return {x}; }                                                                    \
  inline N##2 make_##N##2(T x, T y) { return {x, y}; }                                                            \
  inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                                    \
  inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }                                            \
  WT_PLAIN_OPERATORS(N##2, T, WT_PLAIN_EACH2)                                                                     \
  WT_PLAIN_OPERATORS(N##3, T, WT_PLAIN_EACH3)                                                                     \
  WT_PLAIN_OPERATORS(N##4, T, WT_PLAIN_EACH4)
WT_PLAIN_VECTORS(float, float)
WT_PLAIN_VECTORS(double, double)
WT_PLAIN_VECTORS(char, signed char)
WT_PLAIN_VECTORS(uchar, unsigned char)
WT_PLAIN_VECTORS(short, short)
WT_PLAIN_VECTORS(ushort, unsigned short)
WT_PLAIN_VECTORS(int, int)
WT_PLAIN_VECTORS(uint, unsigned int)
#undef WT_PLAIN_VECTORS
#undef WT_PLAIN_OPERATORS
#undef WT_PLAIN_EACH2
#undef WT_PLAIN_EACH3
#undef WT_PLAIN_EACH4

#endif

#if defined(WT_CUDA)

typedef __hip_bfloat16 hip_bfloat16;

// HIP's exchanges between lanes; NVIDIA's own names say which lanes take part.
template <class T>
__device__ inline T __shfl(T value, int source, int width = 32) {
  return __shfl_sync(~0u, value, source, width);
}
template <class T>
__device__ inline T __shfl_xor(T value, int mask, int width = 32) {
  return __shfl_xor_sync(~0u, value, mask, width);
}
template <class T>
__device__ inline T __shfl_down(T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(~0u, value, delta, width);
}
template <class T>
__device__ inline T __shfl_up(T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(~0u, value, delta, width);
}
// Macros, because NVRTC declares functions of these names that no newer GPU has.
#define __ballot(predicate) wt::ballot((predicate) != 0)
#define __any(predicate) (wt::ballot((predicate) != 0) != 0)
#define __all(predicate) (wt::ballot((predicate) == 0) == 0)

#endif

#if defined(WAVETUNE_CPU_ABI) || defined(WT_CUDA)

/// IEEE's binary16: stored so, calculated with as float.
struct __half {
  unsigned short bits;
  __half() = default;
  __device__ __half(float value) {
    const unsigned raw = __builtin_bit_cast(unsigned, value), sign = (raw >> 16) & 0x8000u, size = raw & 0x7FFFFFFFu;
    if (size > 0x7F800000u) {
      bits = static_cast<unsigned short>(sign | 0x7E00u);
    } else if (size >= 0x477FF000u) {
      bits = static_cast<unsigned short>(sign | 0x7C00u);
    } else if (size < 0x38800000u) {
      const float shifted = __builtin_bit_cast(float, size) + 0.5f;
      bits = static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, shifted) - 0x3F000000u));
    } else {
      bits = static_cast<unsigned short>(sign | ((size + 0xFFFu + ((size >> 13) & 1u) - 0x38000000u) >> 13));
    }
  }
  __device__ operator float() const {
    const unsigned sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3FFu;
    const unsigned tiny = __builtin_bit_cast(unsigned, static_cast<float>(mantissa) * 5.9604644775390625e-8f);
    const unsigned other = (exponent == 31u ? 0x7F800000u : (exponent + 112u) << 23) | (mantissa << 13);
    return __builtin_bit_cast(float, sign | (exponent == 0u ? tiny : other));
  }
  __device__ __half& operator+=(float other) { return *this = __half(float(*this) + other); }
  __device__ __half& operator*=(float other) { return *this = __half(float(*this) * other); }
};
typedef __half half;
__device__ inline float __half2float(__half x) { return x; }
__device__ inline __half __float2half(float x) { return x; }

#endif
