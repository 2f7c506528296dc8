// HIP's language on the CPU: indices, parameters, LDS, atomics.
#include <cmath>
#include <numeric>

#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

struct Out {
  int* out;
};

TEST(CpuLanguage, ThreadsAndBlocksOfThreeDimensionsRunOnceEach) {
  Kernels k(R"(
    struct P { int* out; };
    extern "C" __global__ void index(P p) {
      unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      atomicAdd(&p.out[block * blockDim.x * blockDim.y * blockDim.z + thread], (int)(1 + thread));
    })");
  constexpr unsigned blocks = 3 * 5 * 2;
  constexpr unsigned threads = 7 * 3 * 4;
  DeviceBuffer out(k.api, blocks * threads * sizeof(int));
  ASSERT_EQ(k.api.hipMemset(out.get(), 0, out.bytes()), hipSuccess);
  ASSERT_EQ(k.launch3("index", {3, 5, 2}, {7, 3, 4}, Out{static_cast<int*>(out.get())}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<int>(out, blocks * threads);
  for (unsigned i = 0; i < blocks * threads; ++i) ASSERT_EQ(values[i], static_cast<int>(1 + i % threads)) << i;
}

TEST(CpuLanguage, AnySignatureDecodesFromPointersAndFromAPackedBuffer) {
  Kernels k(R"(
    struct Pair { char a; double b; };
    extern "C" __global__ void many(char a, double b, short c, const float* d, Pair e, int* out) {
      out[0] = a; out[1] = (int)b; out[2] = c; out[3] = (int)d[1]; out[4] = e.a; out[5] = (int)e.b;
    }
    extern "C" __global__ void none() {})");
  DeviceBuffer out(k.api, 6 * sizeof(int));
  DeviceBuffer d(k.api, 2 * sizeof(float));
  const float numbers[] = {0, 44};
  ASSERT_EQ(k.api.hipMemcpy(d.get(), numbers, sizeof numbers, hipMemcpyHostToDevice), hipSuccess);
  struct Pair {
    char a;
    double b;
  };
  struct Packed {
    char a;
    double b;
    short c;
    const float* d;
    Pair e;
    int* out;
  } packed{11, 22, 33, static_cast<float*>(d.get()), {55, 66}, static_cast<int*>(out.get())};
  const std::vector<int> expected{11, 22, 33, 44, 55, 66};

  void* pointers[] = {&packed.a, &packed.b, &packed.c, &packed.d, &packed.e, &packed.out};
  const hipFunction_t many = get_function(k.api, k.module, "many");
  ASSERT_EQ(k.api.hipModuleLaunchKernel(many, 1, 1, 1, 1, 1, 1, 0, k.stream.get(), pointers, nullptr), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  EXPECT_EQ(k.read<int>(out, 6), expected);

  ASSERT_EQ(k.api.hipMemset(out.get(), 0, out.bytes()), hipSuccess);
  ASSERT_EQ(k.launch("many", 1, 1, packed), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  EXPECT_EQ(k.read<int>(out, 6), expected);

  const hipFunction_t none = get_function(k.api, k.module, "none");
  EXPECT_EQ(k.api.hipModuleLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, k.stream.get(), nullptr, nullptr), hipSuccess);
  EXPECT_EQ(k.synchronize(), hipSuccess);
}

TEST(CpuLanguage, SharedVariablesBelongToTheBlockAndBeginAsNaN) {
  Kernels k(R"(
    struct P { int* out; };
    __device__ int& counter() { __shared__ int count; return count; }
    extern "C" __global__ __launch_bounds__(64) void shared(P p) {
      __shared__ float tile[8][4], other[3];
      __shared__ __align__(16) unsigned char bytes[5];
      extern __shared__ __attribute__((aligned(16))) float dynamic[];
      int fresh = tile[threadIdx.x % 8][1] != tile[threadIdx.x % 8][1] && other[2] != other[2] && bytes[4] == 255 &&
                  dynamic[threadIdx.x] != dynamic[threadIdx.x] && counter() == -1;
      __syncthreads();
      tile[threadIdx.x % 8][1] = 1; other[2] = 2; bytes[4] = 3; dynamic[threadIdx.x] = threadIdx.x;
      if (threadIdx.x == 0) counter() = blockIdx.x;
      __syncthreads();
      p.out[blockIdx.x * 64 + threadIdx.x] = fresh && counter() == blockIdx.x && dynamic[63 - threadIdx.x] == 63 - threadIdx.x;
    })");
  constexpr unsigned blocks = 40;
  DeviceBuffer out(k.api, blocks * 64 * sizeof(int));
  ASSERT_EQ(k.launch("shared", blocks, 64, Out{static_cast<int*>(out.get())}, 64 * sizeof(float)), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<int>(out, blocks * 64);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), static_cast<int>(blocks * 64));
}

TEST(CpuLanguage, TwoModulesWithTheSameNamesDoNotShareAnything) {
  const std::string source = R"(
    struct P { int* out; };
    extern "C" __global__ void k(P p) { __shared__ int x[EXTENT]; x[EXTENT - 1] = EXTENT; p.out[0] = x[EXTENT - 1]; })";
  Kernels small("constexpr int EXTENT = 2;" + source);
  Kernels large("constexpr int EXTENT = 5000;" + source);
  DeviceBuffer out(small.api, sizeof(int));
  for (Kernels* k : {&small, &large, &small}) {
    ASSERT_EQ(k->launch("k", 1, 1, Out{static_cast<int*>(out.get())}), hipSuccess);
    ASSERT_EQ(k->synchronize(), hipSuccess);
    EXPECT_EQ(k->read<int>(out, 1)[0], k == &large ? 5000 : 2);
  }
}

TEST(CpuLanguage, MathOfTheVocabularyIsAccurate) {
  Kernels k(R"(
    struct P { const float* in; float* out; };
    extern "C" __global__ void math(P p) {
      float x = p.in[threadIdx.x];
      float* out = p.out + 4 * threadIdx.x;
      out[0] = wt::exp(x); out[1] = wt::rsqrt(x); wt::sincos(x, out + 2, out + 3);
    })");
  const std::vector<float> inputs{0,     1,      -1,      0.3f,    -7.25f,  60.5f,    88.7f,     89.5f, 1000,
                                  -87.f, -100.f, -103.5f, -110.0f, -1000.f, INFINITY, -INFINITY, NAN,   31.4f};
  DeviceBuffer in(k.api, inputs.size() * sizeof(float));
  DeviceBuffer out(k.api, 4 * in.bytes());
  ASSERT_EQ(k.api.hipMemcpy(in.get(), inputs.data(), in.bytes(), hipMemcpyHostToDevice), hipSuccess);
  struct P {
    const void* in;
    void* out;
  };
  ASSERT_EQ(k.launch("math", 1, static_cast<unsigned>(inputs.size()), P{in.get(), out.get()}), hipSuccess);
  ASSERT_EQ(k.synchronize(), hipSuccess);
  const auto values = k.read<float>(out, 4 * inputs.size());
  const auto near = [](float got, double want) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(static_cast<float>(want))) return got == static_cast<float>(want);
    return std::abs(got - want) <= 3e-7 * std::abs(want) + 3e-45;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double x = inputs[i];
    EXPECT_TRUE(near(values[4 * i], std::exp(x))) << "exp(" << x << ") = " << values[4 * i];
    EXPECT_TRUE(near(values[4 * i + 1], 1 / std::sqrt(x))) << x;
    EXPECT_TRUE(near(values[4 * i + 2], std::sin(x))) << x;
    EXPECT_TRUE(near(values[4 * i + 3], std::cos(x))) << x;
  }
}

TEST(CpuLanguage, CompilerErrorsNameTheLine) {
  const auto provider = test::cpu_provider();
  const auto options = provider->compile_options(provider->devices()[0]);
  struct Case {
    const char* source;
    const char* expected;
  };
  const Case cases[] = {
      {"extern \"C\" __global__ void k() {\n  __shared__ float a,\n    b;\n  oops();\n}", "test.hip:4:"},
      {"int x;", "no __global__ function"},
      {"extern \"C\" __global__ void k() { __shared__ float big[50000]; big[0] = 0; }", "larger than the LDS"},
      {"__shared__ float outside[4]; extern \"C\" __global__ void k() {}", "'?outside'?"},
      {"extern \"C\" __global__ void k() {} #", "stray"},
  };
  for (const Case& c : cases) {
    const auto outcome = test::compile(*provider, c.source, options);
    EXPECT_EQ(outcome.result, HIPRTC_ERROR_COMPILATION) << c.source;
    if (c.expected[0] != '\'') {
      EXPECT_NE(outcome.log.find(c.expected), std::string::npos) << c.source << "\n" << outcome.log;
    }
  }
  const std::string good = "extern \"C\" __global__ void k() {}";
  EXPECT_EQ(test::compile(*provider, good, {"--offload-arch=gfx950"}).result, HIPRTC_ERROR_COMPILATION);
  EXPECT_EQ(test::compile(*provider, good, {"--no-such-option"}).result, HIPRTC_ERROR_COMPILATION);
  EXPECT_EQ(test::compile(*provider, good, {"-DX=1", "-O1"}).result, HIPRTC_SUCCESS);
}

}  // namespace
}  // namespace wavetune::hip
