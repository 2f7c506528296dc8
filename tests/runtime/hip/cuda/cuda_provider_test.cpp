// HIP's functions over CUDA's driver, with a stand-in that notes its calls. The driver stays loaded for a process's
// life, so that these are skipped where a real one was loaded first.
#include "runtime/hip/cuda/cuda_provider.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cubin_builder.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/hip/cuda/driver.h"
#include "runtime/hip/handles.h"
#include "runtime/process/subprocess.h"

namespace wavetune::hip::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* source = WAVETUNE_SOURCE_DIR "/tests/runtime/hip/cuda/fake_cuda.cc";

/// A folder with a stand-in for the driver and one for the compiler, which is only looked at.
class Fake {
 public:
  static Fake& get() {
    static Fake fake;
    return fake;
  }

  std::string root() const { return root_.path().string(); }
  std::string library() const { return root() + "/lib/libcuda.so.1"; }
  void build(const std::string& text) {
    write_file_atomic(root_.path() / "fake_rest.inc", rest());
    write_file_atomic(root_.path() / "fake.cc", text);
    process::SubprocessOptions options;
    options.arguments = {"g++",         "-std=c++20",        "-w", "-fPIC",  "-shared", "-I" WAVETUNE_SOURCE_DIR,
                         "-I" + root(), root() + "/fake.cc", "-o", library()};
    options.error_to_output = true;
    const auto result = process::run_and_capture(options);
    if (!result.status.ok()) throw std::runtime_error(result.output);
  }

 private:
  Fake() {
    std::filesystem::create_directory(root_.path() / "lib");
    write_file_atomic(root_.path() / "lib/libnvrtc.so.13", "stand-in");
    write_file_atomic(root_.path() / "lib/libnvrtc-builtins.so.13.0", "stand-in");
  }

  /// Every function that the stand-in does not write out itself.
  static std::string rest() {
    const std::string own = read_file(source);
    std::string text;
#define WAVETUNE_SYMBOL(member, symbol, parameters) #symbol,
    for (const std::string name : {WAVETUNE_CUDA_FUNCTIONS(WAVETUNE_SYMBOL)}) {
      if (own.find("int " + name + "(") == std::string::npos)
        text += fmt::format("int {0}() {{ return note(\"{0}\"); }}\n", name);
    }
#undef WAVETUNE_SYMBOL
    return text;
  }

  process::TemporaryDirectory root_{"wavetune-fake-cuda"};
};

class CudaProviderTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("WAVETUNE_CUDA_PATH", Fake::get().root().c_str(), 1);
    show_devices(2);
    if (!std::filesystem::exists(Fake::get().library())) Fake::get().build(read_file(source));
    const DriverSearch search = load_driver();
    ASSERT_NE(search.driver, nullptr) << search.reason;
    if (search.driver->path != Fake::get().library()) GTEST_SKIP() << search.driver->path << " was loaded before";
    calls();
  }
  void TearDown() override {
    for (const char* name : {"WAVETUNE_CUDA_PATH", "FAKE_CUDA_DEVICES", "FAKE_CUDA_VERSION", "FAKE_CUDA_RESULT"})
      unsetenv(name);
  }

  static void show_devices(int count) { setenv("FAKE_CUDA_DEVICES", std::to_string(count).c_str(), 1); }
  static void stream_result(int code) { setenv("FAKE_CUDA_RESULT", std::to_string(code).c_str(), 1); }
  /// What the stand-in was called with since the last time.
  static std::string calls() {
    void* const library = dlopen(Fake::get().library().c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<const char* (*)()>(dlsym(library, "fake_cuda_calls"))();
  }
  static std::shared_ptr<const Provider> provider() {
    CudaResult result = make_cuda_provider(0);
    EXPECT_TRUE(result.provider) << result.detail;
    return result.provider;
  }
};

TEST_F(CudaProviderTest, DescribesTheDevices) {
  const auto made = provider();
  EXPECT_THAT(made->driver(), testing::StartsWith("cuda 13.0"));
  EXPECT_EQ(made->compiler(), "nvrtc");
  EXPECT_EQ(made->compiler_version(), "13.0");
  ASSERT_EQ(made->devices().size(), 2u);
  const DeviceInfo& device = made->devices()[1];
  EXPECT_EQ(device.name, "Fake H200");
  EXPECT_EQ(device.arch, "sm_90a");
  EXPECT_EQ(device.memory_bytes, std::size_t{141} << 30);
  EXPECT_EQ(device.cu_count, 132);
  EXPECT_EQ(device.limits.wave_size, 32);
  EXPECT_EQ(device.limits.lds_bytes, 232448);
  EXPECT_THAT(made->compile_options(device), testing::Contains("--gpu-architecture=sm_90a"));
  int value = 0;
  EXPECT_EQ(made->api().hipDeviceGetAttribute(&value, hipDeviceAttributeL2CacheSize, 0), hipSuccess);
  EXPECT_EQ(value, 10038);
  EXPECT_EQ(make_cuda_provider(1).provider->devices().size(), 1u);
  EXPECT_THAT(make_cuda_provider(3).detail, HasSubstr("3 devices asked for, CUDA shows 2"));
}

TEST_F(CudaProviderTest, SaysWhyItCannotBeUsed) {
  show_devices(0);
  EXPECT_THAT(make_cuda_provider(0).detail,
              testing::AllOf(HasSubstr("libcuda.so.1 is there, but cuInit says CUDA_ERROR_NO_DEVICE")));
  show_devices(1);
  setenv("FAKE_CUDA_VERSION", "11080", 1);
  EXPECT_THAT(make_cuda_provider(0).detail, HasSubstr("the driver of CUDA 11.8; wavetune needs 12.0"));
}

TEST_F(CudaProviderTest, EachThreadHasItsDeviceAndItsError) {
  const auto made = provider();
  const Api& api = made->api();
  (void)api.hipGetLastError();
  std::thread([&] {
    void* memory = nullptr;
    EXPECT_EQ(api.hipMalloc(&memory, 64), hipSuccess);
    EXPECT_THAT(calls(), HasSubstr("current(100) alloc(64)")) << "device 0 is chosen at first";
    EXPECT_EQ(api.hipSetDevice(1), hipSuccess);
    EXPECT_EQ(api.hipMalloc(&memory, 64), hipSuccess);
    EXPECT_EQ(api.hipMalloc(&memory, 32), hipSuccess);
    EXPECT_THAT(calls(), testing::EndsWith("current(101) alloc(64) alloc(32) ")) << "made current once";
    int device = -1;
    EXPECT_EQ(api.hipGetDevice(&device), hipSuccess);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(api.hipSetDevice(2), hipErrorInvalidDevice);
    EXPECT_EQ(api.hipMalloc(&memory, std::size_t{1} << 41), hipErrorOutOfMemory);
    EXPECT_EQ(api.hipGetLastError(), hipErrorOutOfMemory);
    EXPECT_EQ(api.hipGetLastError(), hipSuccess);
    EXPECT_EQ(api.hipSetDevice(2), hipErrorInvalidDevice);
  }).join();
  EXPECT_EQ(api.hipGetLastError(), hipSuccess) << "it was another thread's";
}

TEST_F(CudaProviderTest, ErrorsCarryCudasNamesAndTexts) {
  const auto made = provider();
  const Api& api = made->api();
  std::thread([&] {
    stream_result(600);
    EXPECT_EQ(api.hipStreamSynchronize(nullptr), hipErrorNotReady);
    EXPECT_EQ(api.hipGetLastError(), hipSuccess) << "not ready is no failure";
    stream_result(716);  // that HIP has no name for
    try {
      check(api, api.hipStreamSynchronize(nullptr), "waiting");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "waiting: CUDA_ERROR_MISALIGNED_ADDRESS (misaligned address)");
    }
    EXPECT_EQ(static_cast<int>(api.hipGetLastError()), 716);
    EXPECT_EQ(static_cast<int>(api.hipGetLastError()), 716) << "the context is lost and stays so";
  }).join();
  EXPECT_STREQ(api.hipGetErrorName(hipErrorInvalidMemcpyDirection), "hipErrorInvalidMemcpyDirection");
  EXPECT_STREQ(api.hipGetErrorString(static_cast<hipError_t>(777)), "unknown error");
}

TEST_F(CudaProviderTest, CopiesAreOverWhenTheyReturn) {
  const auto made = provider();
  const Api& api = made->api();
  char a[4];
  char b[4];
  EXPECT_EQ(api.hipSetDevice(0), hipSuccess);
  calls();
  EXPECT_EQ(api.hipMemcpy(a, b, 4, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(calls(), "cuMemcpyHtoDAsync_v2() sync() ");
  EXPECT_EQ(api.hipMemcpy(a, b, 4, hipMemcpyDeviceToDevice), hipSuccess);
  EXPECT_EQ(calls(), "cuMemcpyDtoDAsync_v2() sync() ");
  EXPECT_EQ(api.hipMemcpy(a, b, 4, hipMemcpyDefault), hipSuccess);
  EXPECT_EQ(calls(), "cuMemcpyAsync() sync() ");
  EXPECT_EQ(api.hipMemset(a, 0, 4), hipSuccess);
  EXPECT_EQ(calls(), "cuMemsetD8Async() sync() ");
  EXPECT_EQ(api.hipMemcpyAsync(a, b, 4, hipMemcpyDeviceToHost, nullptr), hipSuccess);
  EXPECT_EQ(calls(), "cuMemcpyDtoHAsync_v2() ");
  EXPECT_EQ(api.hipMemcpyPeerAsync(a, 1, b, 0, 4, nullptr), hipSuccess);
  EXPECT_THAT(calls(), HasSubstr("cuMemcpyPeerAsync()"));
  EXPECT_EQ(api.hipMemcpyAsync(a, b, 4, static_cast<hipMemcpyKind>(9), nullptr), hipErrorInvalidMemcpyDirection);
  void* memory = a;
  EXPECT_EQ(api.hipMalloc(&memory, 0), hipSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(api.hipFree(nullptr), hipSuccess);
  EXPECT_EQ(api.hipMemcpyAsync(a, b, 0, hipMemcpyDefault, nullptr), hipSuccess);
  EXPECT_EQ(calls(), "");
}

TEST_F(CudaProviderTest, FlagsKeepTheirMeaning) {
  const auto made = provider();
  const Api& api = made->api();
  EXPECT_EQ(api.hipSetDevice(0), hipSuccess);
  calls();
  void* memory = nullptr;
  EXPECT_EQ(api.hipHostMalloc(&memory, 16, hipHostMallocWriteCombined | hipHostMallocCoherent), hipSuccess);
  EXPECT_EQ(calls(), "host_alloc(16,7) ");
  hipEvent_t event = nullptr;
  EXPECT_EQ(api.hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventReleaseToDevice), hipSuccess);
  EXPECT_EQ(calls(), "event(2) ");
  const Stream stream = make_stream(api);
  EXPECT_EQ(calls(), "stream(1) ");
  EXPECT_EQ(api.hipStreamBeginCapture(stream.get(), hipStreamCaptureModeRelaxed), hipSuccess);
  EXPECT_EQ(calls(), "capture(2) ");
}

TEST_F(CudaProviderTest, FunctionsMayUseAllSharedMemoryAndTakePackedParameters) {
  const auto made = provider();
  const Api& api = made->api();
  EXPECT_EQ(api.hipSetDevice(0), hipSuccess);
  const Module module = load_module(api, test::two_functions().build());
  calls();
  const hipFunction_t function = get_function(api, module, "k");
  EXPECT_EQ(calls(), "function(k) set(8,231448) set(9,100) ");
  EXPECT_EQ(get_function(api, module, "k"), function);
  EXPECT_EQ(calls(), "") << "asked for once";
  const std::uint32_t grid[3] = {4, 2, 1};
  const std::uint32_t block[3] = {32, 4, 1};
  const int parameters = 1;
  launch(api, function, grid, block, 70000, nullptr, std::as_bytes(std::span(&parameters, 1)));
  EXPECT_EQ(calls(), "launch(4x2x1,32x4x1,70000,packed) ");
  EXPECT_THROW(get_function(api, module, "missing"), Error);
  EXPECT_EQ(api.hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            hipErrorInvalidDeviceFunction);
}

// The driver puts a packed buffer where parameters begin; a struct that is aligned to 64 bytes lies behind that.
TEST_F(CudaProviderTest, ASingleStructIsPassedAsAParameter) {
  const auto made = provider();
  const Api& api = made->api();
  test::CubinBuilder code;
  code.symbol("k", STT_FUNC, test::kernel_mark);
  code.add(".nv.info.k", SHT_LOPROC, test::CubinBuilder::attribute(0x17, {0, 0x300000, 0x601F000}));
  const Module module = load_module(api, code.build());
  const hipFunction_t function = get_function(api, module, "k");
  calls();
  const std::uint32_t grid[3] = {1, 1, 1};
  const std::uint32_t block[3] = {64, 1, 1};
  const int parameters = 1;
  launch(api, function, grid, block, 16, nullptr, std::as_bytes(std::span(&parameters, 1)));
  EXPECT_EQ(calls(), "launch(1x1x1,64x1x1,16,struct) ");
}

TEST_F(CudaProviderTest, ModulesThatOverlapAreLaunchedSo) {
  const auto made = provider();
  const Api& api = made->api();
  test::CubinBuilder code = test::two_functions();
  code.symbol("wt_overlaps_predecessor", STT_OBJECT, 0);
  const Module module = load_module(api, code.build());
  const hipFunction_t function = get_function(api, module, "k");
  calls();
  const std::uint32_t grid[3] = {5, 1, 1};
  const std::uint32_t block[3] = {64, 1, 1};
  const int parameters = 1;
  launch(api, function, grid, block, 16, nullptr, std::as_bytes(std::span(&parameters, 1)));
  EXPECT_EQ(calls(), "launch_ex(5,64,16,1,6=1) ") << "attribute 6 is programmatic stream serialization";
}

TEST(CudaDriver, AnOldOneIsRefusedByWhatItLacks) {
  if (const DriverSearch search = load_driver(); search.driver != nullptr)
    GTEST_SKIP() << search.driver->path << " was loaded before";
  setenv("WAVETUNE_CUDA_PATH", Fake::get().root().c_str(), 1);
  Fake::get().build("extern \"C\" int cuInit(unsigned) { return 0; }");
  const CudaResult result = make_cuda_provider(0);
  unsetenv("WAVETUNE_CUDA_PATH");
  std::filesystem::remove(Fake::get().library());
  EXPECT_FALSE(result.provider);
  EXPECT_THAT(result.detail, HasSubstr("libcuda.so.1 has no function cuGetErrorName"));
}

}  // namespace
}  // namespace wavetune::hip::cuda
