// Wrong calls get HIP's error codes, not crashes.
#include "tests/runtime/hip/cpu_kernels.h"

namespace wavetune::hip {
namespace {

using test::Kernels;

struct P {
  int* out;
};

TEST(CpuErrors, Launches) {
  Kernels k(R"(
    struct P { int* out; };
    extern "C" __global__ __launch_bounds__(128) void k(P p) {} )",
            test::cpu_provider(2));
  struct Case {
    std::array<unsigned, 3> grid, block;
    unsigned lds;
    hipError_t expected;
  };
  const Case cases[] = {
      {{1, 1, 1}, {128, 1, 1}, 163840, hipSuccess},
      {{1, 1, 1}, {32, 2, 2}, 0, hipSuccess},
      {{0, 1, 1}, {64, 1, 1}, 0, hipErrorInvalidConfiguration},
      {{1, 1, 1}, {64, 0, 1}, 0, hipErrorInvalidConfiguration},
      {{1, 1, 1}, {1025, 1, 1}, 0, hipErrorInvalidConfiguration},
      {{1, 1, 1}, {1024, 1024, 1024}, 0, hipErrorInvalidConfiguration},
      {{1, 1, 1}, {64, 1, 1}, 163841, hipErrorInvalidConfiguration},
      {{1, 1, 1}, {129, 1, 1}, 0, hipErrorLaunchFailure},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(k.launch3("k", c.grid, c.block, P{}, c.lds), c.expected) << c.block[0] << " " << c.lds;
    EXPECT_EQ(k.api.hipGetLastError(), c.expected);
    EXPECT_EQ(k.api.hipGetLastError(), hipSuccess);
  }
  EXPECT_EQ(k.launch("k", 1, 1, 'x'), hipErrorInvalidValue) << "a buffer shorter than the parameters";
  const hipFunction_t function = get_function(k.api, k.module, "k");
  const auto launch = [&](hipFunction_t f, hipStream_t stream, void** parameters, void** extra) {
    return k.api.hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra);
  };
  P params{};
  void* parameters[] = {&params};
  void* extra[] = {HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(launch(function, k.stream.get(), nullptr, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(launch(function, k.stream.get(), parameters, extra), hipErrorInvalidValue);
  EXPECT_EQ(launch(function, k.stream.get(), nullptr, extra), hipErrorInvalidValue);
  EXPECT_EQ(launch(nullptr, k.stream.get(), parameters, nullptr), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(launch(reinterpret_cast<hipFunction_t>(&params), k.stream.get(), parameters, nullptr),
            hipErrorInvalidDeviceFunction);
  EXPECT_EQ(launch(function, reinterpret_cast<hipStream_t>(&params), parameters, nullptr), hipErrorInvalidHandle);
  ASSERT_EQ(k.api.hipSetDevice(1), hipSuccess);
  Stream elsewhere = make_stream(k.api);
  EXPECT_EQ(launch(function, elsewhere.get(), parameters, nullptr), hipErrorInvalidHandle)
      << "a module of another device";
  ASSERT_EQ(k.api.hipSetDevice(0), hipSuccess);
}

TEST(CpuErrors, Modules) {
  Kernels k("extern \"C\" __global__ void k() {}");
  hipModule_t module = nullptr;
  const std::string elf =
      "\x7f"
      "ELF which is not one of ours";
  EXPECT_EQ(k.api.hipModuleLoadData(&module, elf.data()), hipErrorInvalidImage);
  std::string other_arch = k.code;
  other_arch.replace(other_arch.find("cpu-"), 7, "cpu-z80");
  EXPECT_EQ(k.api.hipModuleLoadData(&module, other_arch.data()), hipErrorNoBinaryForGpu);
  std::string damaged = k.code;
  damaged.replace(damaged.find("\x7f"
                               "ELF"),
                  4, "JUNK");
  EXPECT_EQ(k.api.hipModuleLoadData(&module, damaged.data()), hipErrorSharedObjectInitFailed);
  EXPECT_EQ(k.api.hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  hipFunction_t function = nullptr;
  EXPECT_EQ(k.api.hipModuleGetFunction(&function, k.module.get(), "absent"), hipErrorNotFound);
  EXPECT_EQ(k.api.hipModuleGetFunction(&function, reinterpret_cast<hipModule_t>(&module), "k"), hipErrorInvalidHandle);
  ASSERT_EQ(k.api.hipModuleGetFunction(&function, k.module.get(), "k"), hipSuccess);
  int value = 0;
  EXPECT_EQ(k.api.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function), hipSuccess);
  EXPECT_EQ(value, 1024);
  k.module.reset();
  EXPECT_EQ(k.api.hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
            hipErrorInvalidDeviceFunction);
}

TEST(CpuErrors, Memory) {
  const auto provider = test::cpu_provider(1);
  const Api& api = provider->api();
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(api.hipMemGetInfo(&before, &total), hipSuccess);
  void* pointer = nullptr;
  ASSERT_EQ(api.hipMalloc(&pointer, 1 << 20), hipSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0u);
  ASSERT_EQ(api.hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before - after, size_t{1} << 20);
  void* too_much = nullptr;
  EXPECT_EQ(api.hipMalloc(&too_much, total), hipErrorOutOfMemory);
  EXPECT_EQ(too_much, nullptr);
  EXPECT_EQ(api.hipMalloc(&too_much, ~size_t{0} - 100), hipErrorOutOfMemory);

  char host[16] = {};
  auto* const bytes = static_cast<char*>(pointer);
  struct Case {
    void* to;
    const void* from;
    size_t size;
    hipMemcpyKind kind;
    hipError_t expected;
  };
  const Case cases[] = {
      {bytes, host, 16, hipMemcpyHostToDevice, hipSuccess},
      {bytes + (1 << 20) - 16, host, 16, hipMemcpyHostToDevice, hipSuccess},
      {bytes + (1 << 20) - 15, host, 16, hipMemcpyHostToDevice, hipErrorInvalidValue},
      {host, bytes, 16, hipMemcpyDeviceToHost, hipSuccess},
      {host, bytes, 16, hipMemcpyDefault, hipSuccess},
      {host, bytes, 16, hipMemcpyHostToDevice, hipErrorInvalidValue},
      {bytes, host, 16, hipMemcpyDeviceToHost, hipErrorInvalidValue},
      {bytes, host, 16, hipMemcpyDeviceToDevice, hipErrorInvalidValue},
      {nullptr, host, 16, hipMemcpyHostToDevice, hipErrorInvalidValue},
      {nullptr, nullptr, 0, hipMemcpyHostToDevice, hipSuccess},
      {host, bytes, 16, static_cast<hipMemcpyKind>(77), hipErrorInvalidMemcpyDirection},
  };
  for (const Case& c : cases) EXPECT_EQ(api.hipMemcpy(c.to, c.from, c.size, c.kind), c.expected);
  EXPECT_EQ(api.hipMemset(bytes, 0, (1 << 20) + 1), hipErrorInvalidValue);
  EXPECT_EQ(api.hipMemset(host, 0, 4), hipErrorInvalidValue);

  EXPECT_EQ(api.hipFree(bytes + 8), hipErrorInvalidValue);
  EXPECT_EQ(api.hipHostFree(bytes), hipErrorInvalidValue);
  EXPECT_EQ(api.hipFree(host), hipErrorInvalidValue);
  EXPECT_EQ(api.hipFree(pointer), hipSuccess);
  EXPECT_EQ(api.hipFree(pointer), hipErrorInvalidValue);
  EXPECT_EQ(api.hipFree(nullptr), hipSuccess);
  ASSERT_EQ(api.hipHostMalloc(&pointer, 64, 0), hipSuccess);
  EXPECT_EQ(api.hipFree(pointer), hipErrorInvalidValue);
  EXPECT_EQ(api.hipHostFree(pointer), hipSuccess);
  ASSERT_EQ(api.hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(after, before);
}

TEST(CpuErrors, Handles) {
  const auto provider = test::cpu_provider(1);
  const Api& api = provider->api();
  int junk = 0;
  EXPECT_EQ(api.hipStreamSynchronize(reinterpret_cast<hipStream_t>(&junk)), hipErrorInvalidHandle);
  EXPECT_EQ(api.hipStreamDestroy(reinterpret_cast<hipStream_t>(&junk)), hipErrorInvalidHandle);
  EXPECT_EQ(api.hipEventDestroy(reinterpret_cast<hipEvent_t>(&junk)), hipErrorInvalidHandle);
  EXPECT_EQ(api.hipEventRecord(nullptr, nullptr), hipErrorInvalidHandle);
  EXPECT_EQ(api.hipModuleUnload(reinterpret_cast<hipModule_t>(&junk)), hipErrorInvalidHandle);
  EXPECT_EQ(api.hipGraphLaunch(nullptr, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(api.hipSetDevice(1000), hipErrorInvalidDevice);
  EXPECT_EQ(api.hipSetDevice(-1), hipErrorInvalidDevice);
  EXPECT_STREQ(api.hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory");
  EXPECT_STREQ(api.hipGetErrorString(hipErrorOutOfMemory), "out of memory");
}

}  // namespace
}  // namespace wavetune::hip
