// HIP's language and the kernel vocabulary on the CPU: __shared__ declarations are rewritten and kernel entries appended by
// runtime/hip/cpu (source rewriting), the rest is here. Threads of a block are fibers that switch only where they wait.

#define __global__ inline __attribute__((always_inline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __constant__ static const
#define __launch_bounds__(...)
#if defined(__clang__)
#define WT_CPU_EXPORT __attribute__((visibility("default"), used))
#else
#define WT_CPU_EXPORT __attribute__((visibility("default"), used, externally_visible))
#endif
#define __align__(n) __attribute__((aligned(n)))

namespace wt_cpu {

/// The thread that runs now. Fibers put theirs back when they go on.
struct Self {
  Dim thread;
  unsigned flat;
  Block* block;
};
static thread_local Self self;

template <class T>
inline T& shared_variable(unsigned* slot) {
  static_assert(sizeof(T) <= lds_limit, "a __shared__ variable is larger than the LDS of a block (163840 bytes)");
  Block* const block = self.block;
  const unsigned index = __atomic_load_n(slot, __ATOMIC_RELAXED);
  void* place = index != 0 ? block->shared[index - 1] : nullptr;
  if (__builtin_expect(place == nullptr, 0)) place = block->host->allocate_shared(block, slot, sizeof(T), alignof(T));
  return *static_cast<T*>(place);
}

template <class T>
inline T* dynamic_lds() {
  return static_cast<T*>(self.block->dynamic_lds);
}

/// Deposits nothing itself: the caller has written to `buffer` of the wave before, and reads from it after.
inline void meet(Meeting meeting, Combine combine) {
  const Self mine = self;
  mine.block->host->meet(mine.block, mine.flat, meeting, combine);
  self = mine;
}

inline Wave& own_wave() { return self.block->waves[self.flat / wave_lanes]; }

template <class T>
inline T shuffle(T value, unsigned source) {
  Wave& wave = own_wave();
  const unsigned parity = wave.parity;
  T* const lanes = reinterpret_cast<T*>(wave.buffer[parity]);
  lanes[self.flat % wave_lanes] = value;
  meet(Meeting::shuffle, nullptr);
  // A lane that does not exist any more reads as zero, as ds_bpermute does on AMD.
  return ((wave.present[parity] >> source) & 1) != 0 ? lanes[source] : T{};
}

/// The butterfly of shfl_xor over 32, 16, ... 1, done once by the last lane that arrives. All lanes get the same bits.
template <class Operation>
inline void reduce_lanes(unsigned char* buffer, unsigned long long present) {
  float* const lanes = reinterpret_cast<float*>(buffer);
  if (present != ~0ull) {
    for (unsigned lane = 0; lane < wave_lanes; ++lane) {
      if (((present >> lane) & 1) == 0) lanes[lane] = Operation::neutral();
    }
  }
  for (unsigned half = wave_lanes / 2; half != 0; half /= 2) {
    for (unsigned lane = 0; lane < half; ++lane) lanes[lane] = Operation::apply(lanes[lane], lanes[lane + half]);
  }
}

struct Sum {
  static float neutral() { return 0.0f; }
  static float apply(float a, float b) { return a + b; }
};
struct Max {
  static float neutral() { return -__builtin_inff(); }
  static float apply(float a, float b) { return a > b ? a : b; }
};

template <class Operation>
inline float reduce(float value, Meeting meeting) {
  Wave& wave = own_wave();
  float* const lanes = reinterpret_cast<float*>(wave.buffer[wave.parity]);
  lanes[self.flat % wave_lanes] = value;
  meet(meeting, reduce_lanes<Operation>);
  return lanes[0];
}

template <int... I>
struct Indices {};
#if defined(__clang__)
template <class, int... I>
using IndicesOf = Indices<I...>;
template <int N>
using MakeIndices = __make_integer_seq<IndicesOf, int, N>;
#else
template <int N>
using MakeIndices = Indices<__integer_pack(N)...>;
#endif

template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T> {
  using type = T;
};

/// Runs any kernel signature from an array of pointers to its arguments.
template <auto F>
struct Kernel;
template <class... A, void (*F)(A...)>
struct Kernel<F> {
  template <int... I>
  static inline __attribute__((always_inline)) void call(void* const* arguments, Indices<I...>) {
    (void)arguments;
    F(*static_cast<typename Plain<A>::type*>(arguments[I])...);
  }
  static void run(Block* block, void* const* arguments) {
    const Dim dim = block->block_dim;
    const bool flat = dim.y == 1 && dim.z == 1;
    for (;;) {
      const unsigned thread = block->next;
      if (thread >= block->threads) return;
      block->next = thread + 1;
      self.thread = flat ? Dim{thread, 0, 0} : Dim{thread % dim.x, thread / dim.x % dim.y, thread / (dim.x * dim.y)};
      self.flat = thread;
      self.block = block;
      call(arguments, MakeIndices<sizeof...(A)>{});
      --block->live;
      block->waves[thread / wave_lanes].live &= ~(1ull << (thread % wave_lanes));
      if (block->waiting != 0) block->host->thread_ended(block, thread);
    }
  }
  // One element more than needed: a kernel may have no parameters.
  static constexpr unsigned sizes[] = {sizeof(A)..., 0};
  static constexpr unsigned alignments[] = {alignof(A)..., 1};
  static constexpr Entry entry(const char* name, unsigned launch_bounds) {
    return {name, run, sizes, alignments, sizeof...(A), launch_bounds};
  }
};

}  // namespace wt_cpu

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
#define threadIdx (wt_cpu::self.thread)
#define blockIdx (wt_cpu::self.block->block_idx)
#define blockDim (wt_cpu::self.block->block_dim)
#define gridDim (wt_cpu::self.block->grid_dim)

inline void __syncthreads() {
  const wt_cpu::Self mine = wt_cpu::self;
  mine.block->host->barrier(mine.block, mine.flat);
  wt_cpu::self = mine;
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline int atomicAdd(int* place, int value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }
inline unsigned atomicAdd(unsigned* place, unsigned value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }
inline float atomicAdd(float* place, float value) {
  float old;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  for (;;) {
    float sum = old + value;
    if (__atomic_compare_exchange(place, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
  }
}

namespace wt {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int wave_size = wt_cpu::wave_lanes;

inline int lane() { return static_cast<int>(wt_cpu::self.flat % wt_cpu::wave_lanes); }
inline int wave() { return static_cast<int>(wt_cpu::self.flat / wt_cpu::wave_lanes); }

inline float shfl(float value, int source) { return wt_cpu::shuffle(value, source & 63); }
inline int shfl(int value, int source) { return wt_cpu::shuffle(value, source & 63); }
inline float shfl_xor(float value, int mask) { return wt_cpu::shuffle(value, (lane() ^ mask) & 63); }
inline int shfl_xor(int value, int mask) { return wt_cpu::shuffle(value, (lane() ^ mask) & 63); }

/// Bit l is the predicate of lane l; 0 for lanes that have ended.
inline u64 ballot(bool predicate) {
  wt_cpu::Wave& wave = wt_cpu::own_wave();
  unsigned char* const buffer = wave.buffer[wave.parity];
  buffer[lane()] = predicate ? 1 : 0;
  wt_cpu::meet(wt_cpu::Meeting::ballot, [](unsigned char* lanes, u64 present) {
    u64 mask = 0;
    for (int i = 0; i < wave_size; ++i) mask |= static_cast<u64>(lanes[i] & 1) << i;
    mask &= present;
    __builtin_memcpy(lanes + 64, &mask, sizeof mask);
  });
  u64 mask;
  __builtin_memcpy(&mask, buffer + 64, sizeof mask);
  return mask;
}

inline float wave_sum(float value) { return wt_cpu::reduce<wt_cpu::Sum>(value, wt_cpu::Meeting::sum); }
inline float wave_max(float value) { return wt_cpu::reduce<wt_cpu::Max>(value, wt_cpu::Meeting::max); }

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline void sincos(float x, float* sine, float* cosine) {
  *sine = __builtin_sinf(x);
  *cosine = __builtin_cosf(x);
}

/// Within 1.5 units in the last place; no branches, so that loops over it vectorise. Coefficients: Cephes expf.
inline float exp(float x) {
  constexpr float shifter = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
  float t = x > 89.0f ? 89.0f : x;        // exp overflows above 88.73
  t = t < -104.0f ? -104.0f : t;          // and is zero below -103.98
  const float shifted = __builtin_fmaf(t, 1.44269504088896341f, shifter);
  const float n = shifted - shifter;
  float r = __builtin_fmaf(n, -0.693359375f, t);
  r = __builtin_fmaf(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = __builtin_fmaf(p, r, 1.3981999507e-3f);
  p = __builtin_fmaf(p, r, 8.3334519073e-3f);
  p = __builtin_fmaf(p, r, 4.1665795894e-2f);
  p = __builtin_fmaf(p, r, 1.6666665459e-1f);
  p = __builtin_fmaf(p, r, 5.0000001201e-1f);
  p = __builtin_fmaf(p, r * r, r) + 1.0f;
  // 2^n in two steps: n reaches -150 and 128, where one factor would leave the range of float.
  int bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  const int exponent = bits - 0x4B400000;
  const int half = exponent >> 1;
  const int first_bits = (half + 127) << 23;
  const int second_bits = (exponent - half + 127) << 23;
  float first, second;
  __builtin_memcpy(&first, &first_bits, sizeof first);
  __builtin_memcpy(&second, &second_bits, sizeof second);
  return p * first * second;
}

}  // namespace wt
