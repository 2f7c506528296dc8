// Where threads of a block wait for each other: barriers and wave operations, and what happens when they never meet.
#include <cmath>
#include <random>

#include "templates/dtype.h"
#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

struct Ints {
  int* out;
  int n;
};

TEST(CpuMeeting, BarriersOrderAllThreadsOfABlock) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void scan(P p) {  // inclusive prefix sum over the block, two barriers a step
      __shared__ int values[1024];
      values[threadIdx.x] = 1;
      __syncthreads();
      for (unsigned step = 1; step < blockDim.x; step *= 2) {
        int other = threadIdx.x >= step ? values[threadIdx.x - step] : 0;
        __syncthreads();
        values[threadIdx.x] += other;
        __syncthreads();
      }
      p.out[blockIdx.x * blockDim.x + threadIdx.x] = values[threadIdx.x];
    })");
  for (const unsigned threads : {1u, 63u, 64u, 100u, 256u, 1024u}) {
    DeviceBuffer out(k.api, 9 * threads * sizeof(int));
    ASSERT_EQ(k.launch("scan", 9, threads, Ints{static_cast<int*>(out.get()), 0}), hipSuccess);
    ASSERT_EQ(k.synchronize(), hipSuccess);
    const auto values = k.read<int>(out, 9 * threads);
    for (unsigned i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int>(1 + i % threads)) << threads;
  }
}

TEST(CpuMeeting, ThreadsThatHaveEndedAreNotWaitedFor) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void early(P p) {
      __shared__ int count;
      if (threadIdx.x == p.n - 1) count = 0;
      if (threadIdx.x >= p.n) return;
      __syncthreads();
      atomicAdd(&count, 1);
      __syncthreads();
      if (threadIdx.x % 2) return;
      __syncthreads();
      p.out[threadIdx.x] = count + wt::shfl(100, 0);
    })");
  DeviceBuffer out(k.api, 256 * sizeof(int));
  ASSERT_EQ(k.launch("early", 1, 256, Ints{static_cast<int*>(out.get()), 150}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  EXPECT_EQ(k.read<int>(out, 1)[0], 250);
}

TEST(CpuMeeting, ShufflesBallotsAndReductions) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void wave(P p) {
      int t = threadIdx.x, l = wt::lane();
      bool ok = wt::wave() == t / 64 && l == t % 64;
      ok = ok && wt::shfl(t * 10, 5) == (t / 64 * 64 + 5) * 10;
      for (int mask = 1; mask < 64; mask *= 2) {
        ok = ok && wt::shfl_xor(t, mask) == (t ^ mask);
        ok = ok && wt::shfl_xor((float)t, mask) == (float)(t ^ mask);
      }
      wt::u64 b = wt::ballot(l % 3 == 0);
      for (int i = 0; i < 64; ++i) ok = ok && ((b >> i) & 1) == (i % 3 == 0);
      ok = ok && wt::wave_sum((float)l) == 2016.0f && wt::wave_max(-(float)l) == 0.0f;
      p.out[t] = ok;
    }
    extern "C" __global__ void partial(P p) {
      p.out[threadIdx.x] = (int)wt::wave_sum(1.0f) * 1000 + (int)wt::wave_max(-1.0f - threadIdx.x) + (wt::ballot(true) == (1ull << p.n) - 1);
    })");
  DeviceBuffer out(k.api, 512 * sizeof(int));
  ASSERT_EQ(k.launch("wave", 1, 512, Ints{static_cast<int*>(out.get()), 0}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  for (const int ok : k.read<int>(out, 512)) ASSERT_EQ(ok, 1);
  ASSERT_EQ(k.launch("partial", 1, 20, Ints{static_cast<int*>(out.get()), 20}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  for (const int value : k.read<int>(out, 20)) ASSERT_EQ(value, 20'000);
}

TEST(CpuMeeting, WavesGoTheirOwnWays) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void uneven(P p) {
      float sum = 0;
      for (int i = 0; i <= 3 * wt::wave(); ++i) sum += wt::wave_sum(1.0f);
      __syncthreads();
      p.out[threadIdx.x] = (int)sum;
    })");
  DeviceBuffer out(k.api, 256 * sizeof(int));
  ASSERT_EQ(k.launch("uneven", 1, 256, Ints{static_cast<int*>(out.get()), 0}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<int>(out, 256);
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(values[i], static_cast<int>(64 * (1 + 3 * (i / 64))));
}

TEST(CpuMeeting, MatrixTileIsAProductInTheRegisterLayoutOfMfma) {
  Kernels k(R"(
    struct P { const float* a; const float* b; float* c; };
    template <class T> __device__ void product(P p) {
      using M = wt::mma16<T>;
      int l = wt::lane();
      const float* a_tile = p.a + wt::wave() * 16 * M::k;
      typename M::ab a, b;
      typename M::acc c;
      for (int i = 0; i < M::k / 4; ++i) {
        a[i] = wt::cast<T>(a_tile[l % 16 * M::k + l / 16 * (M::k / 4) + i]);
        b[i] = wt::cast<T>(p.b[l % 16 * M::k + l / 16 * (M::k / 4) + i]);
      }
      float* c_tile = p.c + wt::wave() * 256;
      for (int i = 0; i < 4; ++i) c[i] = c_tile[(l / 16 * 4 + i) * 16 + l % 16];
      c = M::run(a, b, c);
      for (int i = 0; i < 4; ++i) c_tile[(l / 16 * 4 + i) * 16 + l % 16] = c[i];
    }
    extern "C" __global__ void f32(P p) { product<float>(p); }
    extern "C" __global__ void bf16(P p) { product<wt::bf16>(p); })");
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const auto& [name, depth] : {std::pair<const char*, int>{"f32", 4}, {"bf16", 16}}) {
    constexpr int waves = 2;
    std::vector<float> a(static_cast<size_t>(waves * 16 * depth)), b(static_cast<size_t>(16 * depth)), c(waves * 256);
    for (auto* tensor : {&a, &b, &c}) {
      for (float& x : *tensor) x = templates::float_from_bf16(templates::bf16_from_float(uniform(random)));
    }
    DeviceBuffer buffers[] = {{k.api, a.size() * 4}, {k.api, b.size() * 4}, {k.api, c.size() * 4}};
    const void* sources[] = {a.data(), b.data(), c.data()};
    for (int i = 0; i < 3; ++i) {
      check(k.api, k.api.hipMemcpy(buffers[i].get(), sources[i], buffers[i].bytes(), hipMemcpyHostToDevice), "copy");
    }
    struct P {
      void *a, *b, *c;
    };
    ASSERT_EQ(k.launch(name, 1, 64 * waves, P{buffers[0].get(), buffers[1].get(), buffers[2].get()}), hipSuccess);
    ASSERT_EQ(k.synchronize(), hipSuccess);
    const auto got = k.read<float>(buffers[2], c.size());
    for (size_t wave = 0; wave < waves; ++wave) {
      for (size_t row = 0; row < 16; ++row) {
        for (size_t column = 0; column < 16; ++column) {
          double sum = c[wave * 256 + row * 16 + column];
          for (size_t i = 0; i < static_cast<size_t>(depth); ++i) {
            sum += double{a[(wave * 16 + row) * static_cast<size_t>(depth) + i]} *
                   b[column * static_cast<size_t>(depth) + i];
          }
          ASSERT_NEAR(got[wave * 256 + row * 16 + column], sum, 1e-5) << name << " " << row << " " << column;
        }
      }
    }
  }
}

TEST(CpuMeeting, ThreadsThatNeverMeetAreALaunchFailureThatNamesThem) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void barrier_against_shuffle(P p) {
      if (threadIdx.x < 32) __syncthreads(); else p.out[0] = wt::shfl(1, 0);
    }
    extern "C" __global__ void divergent_waves(P p) {
      if (threadIdx.x % 2) p.out[0] = (int)wt::wave_sum(1); else p.out[1] = wt::shfl(1, 3);
    }
    extern "C" __global__ void half_a_wave(P p) {
      if (threadIdx.x % 2) p.out[0] = (int)wt::wave_sum(1);
      __syncthreads();
    }
    extern "C" __global__ void fine(P p) { __syncthreads(); if (threadIdx.x == 0) p.out[2] = 7; __syncthreads(); })");
  DeviceBuffer out(k.api, 16);
  const Ints params{static_cast<int*>(out.get()), 0};
  struct Case {
    const char* kernel;
    const char* text;
  };
  const Case cases[] = {{"barrier_against_shuffle", "32 at __syncthreads, 32 lanes of wave 0 at a shuffle"},
                        {"divergent_waves", "lanes of wave 0 have diverged"},
                        {"half_a_wave", "128 at __syncthreads, 32 lanes of wave 0 at a wave_sum"}};
  for (const Case& c : cases) {
    testing::internal::CaptureStderr();
    const unsigned threads = std::string(c.kernel) == "half_a_wave" ? 256 : 64;
    ASSERT_EQ(k.launch(c.kernel, 3, threads, params), hipSuccess);
    EXPECT_EQ(k.synchronize(), hipErrorLaunchFailure) << c.kernel;
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find(c.text), std::string::npos) << text;
    EXPECT_NE(text.find(c.kernel), std::string::npos) << text;
    // The failure has been reported; the device goes on.
    ASSERT_EQ(k.launch("fine", 4, 256, params), hipSuccess);
    EXPECT_EQ(k.synchronize(), hipSuccess);
    EXPECT_EQ(k.read<int>(out, 3)[2], 7);
  }
}

TEST(CpuMeeting, MoreLdsThanTheBlockHasIsALaunchFailure) {
  Kernels k(R"(
    struct P { int* out; int n; };
    extern "C" __global__ void two(P p) {
      __shared__ float a[20000], b[20000]; extern __shared__ float c[];
      a[threadIdx.x] = b[threadIdx.x] = c[threadIdx.x] = 1;
    })");
  const Ints params{nullptr, 0};
  ASSERT_EQ(k.launch("two", 1, 64, params, 1024), hipSuccess);
  EXPECT_EQ(k.synchronize(), hipSuccess);
  testing::internal::CaptureStderr();
  ASSERT_EQ(k.launch("two", 1, 64, params, 8192), hipSuccess);
  EXPECT_EQ(k.synchronize(), hipErrorLaunchFailure);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("needs more LDS"), std::string::npos);
}

}  // namespace
}  // namespace wavetune::hip
