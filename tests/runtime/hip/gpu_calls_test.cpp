// HIP's calls on a real GPU: `ctest -L device`, or WAVETUNE_TEST_DEVICE=hip or cuda. Skipped without that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "db/base/error.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/rtc_program.h"
#include "tests/support/error_of.h"

namespace wavetune::hip {
namespace {

using testing::HasSubstr;

constexpr const char* source = R"(
struct Params { const float* x; float* y; int n; float a; };
extern "C" __global__ void axpy(Params p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) p.y[i] += p.a * p.x[i];
}
extern "C" __global__ void count(Params p) {
  if (blockIdx.x == 0 && threadIdx.x == 0) p.y[0] += 1;
}
extern "C" __global__ void far_memory(Params p) { *reinterpret_cast<float*>(static_cast<unsigned long long>(p.n)) = 1; }
extern __shared__ float lds[];
extern "C" __global__ void reverse(Params p) {
  lds[p.n - 1 - static_cast<int>(threadIdx.x)] = p.x[threadIdx.x];
  __syncthreads();
  p.y[threadIdx.x] = lds[p.n - static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)];
}
)";

// Each waits for the one before, and lets the next start at once.
constexpr const char* overlapping = R"(
extern "C" __device__ const int wt_overlaps_predecessor = 1;
struct Params { const float* x; float* y; int n; float a; };
extern "C" __global__ void count(Params p) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" : : : "memory");
  if (blockIdx.x == 0 && threadIdx.x == 0) p.y[0] += 1;
}
)";

struct Params {
  const void* x;
  void* y;
  int n;
  float a;
};

class GpuCalls : public testing::Test {
 protected:
  void SetUp() override {
    const char* device = std::getenv("WAVETUNE_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "WAVETUNE_TEST_DEVICE names no GPU";
    try {
      provider_ = load_provider(parse_device_spec(device));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (provider_->kind() == ProviderKind::cpu) GTEST_SKIP() << "WAVETUNE_TEST_DEVICE names no GPU";
    check(api(), api().hipSetDevice(0), "hipSetDevice");
    stream_ = make_stream(api());
  }

  const Api& api() const { return provider_->api(); }
  const Provider& provider() const { return *provider_; }
  hipStream_t stream() const { return stream_.get(); }
  Module compile(const char* text) const {
    const jit::RtcResult result =
        jit::compile_program(api(), text, provider_->compile_options(provider_->devices().front()));
    if (result.code.empty()) fail(ErrorKind::device, "{}", result.log);
    return load_module(api(), result.code);
  }
  void launch_one(hipFunction_t function, const Params& params, unsigned blocks, unsigned threads,
                  unsigned lds_bytes = 0) const {
    const std::uint32_t grid[3] = {blocks, 1, 1};
    const std::uint32_t block[3] = {threads, 1, 1};
    launch(api(), function, grid, block, lds_bytes, stream(), std::as_bytes(std::span(&params, 1)));
  }
  void wait() const { check(api(), api().hipStreamSynchronize(stream()), "hipStreamSynchronize"); }
  std::vector<float> read(const DeviceBuffer& buffer) const {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    check(api(), api().hipMemcpy(values.data(), buffer.get(), buffer.bytes(), hipMemcpyDeviceToHost), "hipMemcpy");
    return values;
  }

 private:
  std::shared_ptr<const Provider> provider_;
  Stream stream_;
};

TEST_F(GpuCalls, CopiesAndLaunches) {
  constexpr int n = 1 << 20;
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 0.0f);
  const DeviceBuffer from(api(), n * sizeof(float));
  const DeviceBuffer to(api(), n * sizeof(float));
  const DeviceBuffer copy(api(), n * sizeof(float));
  check(api(), api().hipMemcpy(from.get(), x.data(), from.bytes(), hipMemcpyDefault), "hipMemcpy");
  check(api(), api().hipMemset(to.get(), 0, to.bytes()), "hipMemset");
  const Module module = compile(source);
  launch_one(get_function(api(), module, "axpy"), {from.get(), to.get(), n, 2.0f}, n / 256, 256);
  wait();
  check(api(), api().hipMemcpy(copy.get(), to.get(), to.bytes(), hipMemcpyDeviceToDevice), "hipMemcpy");
  const std::vector<float> got = read(copy);
  for (int i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2.0f * x[static_cast<std::size_t>(i)]) << i;

  void* pinned = nullptr;
  check(api(), api().hipHostMalloc(&pinned, to.bytes(), hipHostMallocDefault), "hipHostMalloc");
  check(api(), api().hipMemcpyAsync(pinned, to.get(), to.bytes(), hipMemcpyDeviceToHost, stream()), "hipMemcpyAsync");
  wait();
  EXPECT_EQ(std::memcmp(pinned, got.data(), to.bytes()), 0);
  check(api(), api().hipHostFree(pinned), "hipHostFree");
}

TEST_F(GpuCalls, AllOfTheLdsCanBeUsedAndNotMore) {
  const int bytes = provider().devices().front().limits.lds_bytes;
  const Module module = compile(source);
  const hipFunction_t reverse = get_function(api(), module, "reverse");
  const DeviceBuffer x(api(), 64 * sizeof(float));
  const DeviceBuffer y(api(), 64 * sizeof(float));
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 1.0f);
  check(api(), api().hipMemcpy(x.get(), values.data(), x.bytes(), hipMemcpyHostToDevice), "hipMemcpy");
  const Params params{x.get(), y.get(), bytes / 4, 0};
  launch_one(reverse, params, 1, 64, static_cast<unsigned>(bytes));
  wait();
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(read(y), values);
  EXPECT_THROW(launch_one(reverse, params, 1, 64, static_cast<unsigned>(bytes) + 256), Error);
  EXPECT_NE(api().hipGetLastError(), hipSuccess);
  EXPECT_EQ(api().hipGetLastError(), hipSuccess);
}

TEST_F(GpuCalls, GraphsRunWhatWasCaptured) {
  std::vector<std::pair<std::string, const char*>> kinds{{"plain", source}};
  if (provider().kind() == ProviderKind::cuda) kinds.emplace_back("overlapping", overlapping);
  for (const auto& [kind, text] : kinds) {
    const Module module = compile(text);
    const hipFunction_t count = get_function(api(), module, "count");
    const DeviceBuffer sum(api(), sizeof(float));
    check(api(), api().hipMemset(sum.get(), 0, sum.bytes()), "hipMemset");
    check(api(), api().hipStreamBeginCapture(stream(), hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    for (int i = 0; i < 100; ++i) launch_one(count, {nullptr, sum.get(), 0, 0}, 16, 64);
    hipGraph_t captured = nullptr;
    check(api(), api().hipStreamEndCapture(stream(), &captured), "hipStreamEndCapture");
    const Graph graph(api(), captured);
    hipGraphExec_t made = nullptr;
    check(api(), api().hipGraphInstantiate(&made, captured, nullptr, nullptr, 0), "hipGraphInstantiate");
    const GraphExec exec(api(), made);
    const Event begin = make_event(api());
    const Event end = make_event(api());
    check(api(), api().hipEventRecord(begin.get(), stream()), "hipEventRecord");
    for (int i = 0; i < 3; ++i) check(api(), api().hipGraphLaunch(made, stream()), "hipGraphLaunch");
    check(api(), api().hipEventRecord(end.get(), stream()), "hipEventRecord");
    check(api(), api().hipEventSynchronize(end.get()), "hipEventSynchronize");
    float milliseconds = 0;
    check(api(), api().hipEventElapsedTime(&milliseconds, begin.get(), end.get()), "hipEventElapsedTime");
    EXPECT_GT(milliseconds, 0) << kind;
    EXPECT_EQ(read(sum), std::vector<float>{300}) << kind;
    for (int i = 0; i < 50; ++i) launch_one(count, {nullptr, sum.get(), 0, 0}, 16, 64);
    wait();
    EXPECT_EQ(read(sum), std::vector<float>{350}) << kind << ", without a graph";
  }
}

TEST_F(GpuCalls, ErrorsAreTheThreadsOwnAndSayWhatTheDriverSays) {
  std::thread([&] {
    EXPECT_EQ(api().hipSetDevice(999), hipErrorInvalidDevice);
    void* memory = nullptr;
    EXPECT_EQ(api().hipMalloc(&memory, std::size_t{1} << 46), hipErrorOutOfMemory);
  }).join();
  EXPECT_EQ(api().hipGetLastError(), hipSuccess);
  const Module module = compile(source);
  EXPECT_THAT(test::error_of([&] { get_function(api(), module, "nothing"); }).what(),
              HasSubstr("hipModuleGetFunction nothing: "));
  const std::vector<std::byte> nonsense(256);
  EXPECT_THAT(test::error_of([&] { load_module(api(), nonsense); }).what(),
              HasSubstr("hipModuleLoadData (256 bytes): "));
  (void)api().hipGetLastError();
}

// Has a name of its own, since it must be the last in its process: the context is lost.
using GpuFault = GpuCalls;

TEST_F(GpuFault, AFaultIsToldByEveryLaterCall) {
  if (provider().kind() != ProviderKind::cuda) GTEST_SKIP() << "ROCm ends the process";
  const Module module = compile(source);
  launch_one(get_function(api(), module, "far_memory"), {nullptr, nullptr, 16, 0}, 1, 32);
  EXPECT_THAT(test::error_of([&] { wait(); }).what(),
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"));
  EXPECT_EQ(api().hipGetLastError(), hipErrorIllegalAddress);
  EXPECT_EQ(api().hipGetLastError(), hipErrorIllegalAddress);
}

}  // namespace
}  // namespace wavetune::hip
