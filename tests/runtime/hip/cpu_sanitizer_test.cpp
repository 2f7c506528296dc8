// WAVETUNE_CPU_SANITIZE=address: what touches memory it does not own ends the process with a report that names the
// line. Each case runs in a child: this program again, with the tests named SanitizedChild.
#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/process/subprocess.h"
#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

constexpr const char* source = R"(struct P { float* data; int n; };
  extern "C" __global__ void global(P p) {
    for (int i = threadIdx.x; i < p.n; i += blockDim.x) p.data[i] = 1;   // line 3
  }
  extern "C" __global__ void static_lds(P p) {
    __shared__ float first[64];
    __shared__ float second[64];
    second[threadIdx.x] = 0;
    first[threadIdx.x + p.n - 64] = 1;   // line 9
    __syncthreads();
    p.data[threadIdx.x] = first[0] + second[0];
  }
  extern "C" __global__ void dynamic_lds(P p) {
    extern __shared__ char bytes[];
    float* lds = reinterpret_cast<float*>(bytes);
    lds[threadIdx.x + p.n - 64] = 1;   // line 16
    __syncthreads();
    p.data[threadIdx.x] = lds[63 - threadIdx.x] + wt::wave_sum(1.0f);
  }
  extern "C" __global__ void local(P p) {
    float registers[8];
    for (int i = 0; i < p.n / 8; ++i) registers[i] = p.data[i];   // line 22
    __syncthreads();
    p.data[threadIdx.x] = registers[threadIdx.x % 8];
  })";

struct P {
  float* data;
  int n;
};

constexpr const char* all_kernels[] = {"global", "static_lds", "dynamic_lds", "local"};

/// What the child runs: the kernel of WAVETUNE_TEST_KERNEL (or "all") told of WAVETUNE_TEST_N elements, on 64 floats of
/// memory and of LDS.
TEST(SanitizedChild, DISABLED_Run) {
  const char* chosen = std::getenv("WAVETUNE_TEST_KERNEL");
  const char* count = std::getenv("WAVETUNE_TEST_N");
  ASSERT_NE(chosen, nullptr);
  ASSERT_NE(count, nullptr);
  Kernels k(source);
  DeviceBuffer data(k.api, 64 * sizeof(float));
  ASSERT_EQ(k.api.hipMemset(data.get(), 0, data.bytes()), hipSuccess);
  const P params{static_cast<float*>(data.get()), std::atoi(count)};
  for (const std::string kernel : all_kernels) {
    if (chosen != std::string("all") && chosen != kernel) continue;
    const unsigned lds = kernel == "dynamic_lds" ? 64 * sizeof(float) : 0;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(k.launch(kernel, 4, 64, params, lds), hipSuccess);
  }
  ASSERT_EQ(k.synchronize(), hipSuccess);
}

process::CaptureResult run_child(const std::string& kernel, int n) {
  process::SubprocessOptions options;
  options.arguments = {process::self_executable().string(), "--gtest_also_run_disabled_tests",
                       "--gtest_filter=SanitizedChild.DISABLED_Run"};
  options.environment = process::sanitizer_environment();
  options.environment["WAVETUNE_TEST_KERNEL"] = kernel;
  options.environment["WAVETUNE_TEST_N"] = std::to_string(n);
  options.error_to_output = true;
  return process::run_and_capture(options, {}, std::chrono::minutes{2});
}

TEST(CpuSanitizer, CatchesWhatIsTouchedBeyondTheEnd) {
  struct Case {
    const char* kernel;
    const char* what;
    const char* line;
  };
  const Case cases[] = {{"global", "heap-buffer-overflow", "test.hip:3"},
                        {"static_lds", "heap-buffer-overflow", "test.hip:9"},
                        {"dynamic_lds", "heap-buffer-overflow", "test.hip:16"},
                        {"local", "stack-buffer-overflow", "test.hip:22"}};
  const process::CaptureResult good = run_child("all", 64);
  EXPECT_TRUE(good.status.ok()) << good.status.describe() << "\n" << good.output;
  for (const Case& c : cases) {
    const process::CaptureResult bad = run_child(c.kernel, 72);
    EXPECT_EQ(bad.status.code, process::sanitizer_exit_code) << c.kernel << ": " << bad.status.describe() << "\n"
                                                             << bad.output;
    EXPECT_THAT(bad.output, testing::HasSubstr(c.what)) << c.kernel;
    EXPECT_THAT(bad.output, testing::HasSubstr(c.line)) << c.kernel;
  }
}

}  // namespace
}  // namespace wavetune::hip
