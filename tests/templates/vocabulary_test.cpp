// The vocabulary of the preludes on the device under test: conversions against plain arithmetic to the bit, exchanges
// between lanes, windows and copies; on an NVIDIA GPU its own matrix instructions and asynchronous copies too.
#include <gtest/gtest.h>

#include <random>

#include "operator_harness.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "runtime/jit/compile_service.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "templates/embedded.h"
#include "templates/t1/kernel_text.h"
#include "tests/runtime/hip/cpu_kernels.h"
#include "vocabulary_kernels.h"

namespace wavetune::templates::test {
namespace {

constexpr std::size_t in_bytes = 8192, out_bytes = 2048, kinds = 16;
constexpr unsigned char untouched = 0xEE;

std::shared_ptr<const hip::Provider> provider_under_test() {
  const auto provider = hip::load_provider(hip::parse_device_spec(device_spec()));
  hip::check(provider->api(), provider->api().hipSetDevice(0), "hipSetDevice");
  return provider;
}

struct Outcome {
  std::vector<unsigned> errors;  ///< by kind
  std::vector<unsigned char> in, out;
};

Outcome run(hip::test::Kernels& kernels, const char* name, unsigned blocks, unsigned threads) {
  const hip::Api& api = kernels.api;
  Outcome result;
  std::mt19937 random(5);
  result.in.resize(in_bytes);
  for (unsigned char& byte : result.in) byte = static_cast<unsigned char>(random() % 255 + 1);
  const hip::DeviceBuffer errors(api, kinds * sizeof(unsigned)), in(api, in_bytes), out(api, out_bytes);
  hip::check(api, api.hipMemset(errors.get(), 0, errors.bytes()), "hipMemset");
  hip::check(api, api.hipMemset(out.get(), untouched, out.bytes()), "hipMemset");
  hip::check(api, api.hipMemcpy(in.get(), result.in.data(), in_bytes, hipMemcpyHostToDevice), "hipMemcpy");
  hip::check(api, api.hipDeviceSynchronize(), "hipDeviceSynchronize");
  const struct { void *errors, *in, *out; } checks{errors.get(), in.get(), out.get()};
  hip::check(api, kernels.launch(name, blocks, threads, checks), name);
  hip::check(api, kernels.synchronize(), name);
  result.errors = kernels.read<unsigned>(errors, kinds);
  result.out = kernels.read<unsigned char>(out, out_bytes);
  return result;
}

const std::vector<unsigned> none(kinds, 0);

TEST(Vocabulary, ConvertsAsPlainArithmeticDoes) {
  hip::test::Kernels kernels(vocabulary_kernels, provider_under_test());
  EXPECT_EQ(run(kernels, "convert", 64, 256).errors, none);
}

TEST(Vocabulary, ExchangesBetweenLanes) {
  hip::test::Kernels kernels(vocabulary_kernels, provider_under_test());
  EXPECT_EQ(run(kernels, "waves", 1, 192).errors, none);
}

TEST(Vocabulary, WindowsGiveZerosOutsideAndKeepWhatLiesThere) {
  hip::test::Kernels kernels(vocabulary_kernels, provider_under_test());
  const Outcome done = run(kernels, "windows", 1, 128);
  EXPECT_EQ(done.errors, none);
  for (std::size_t i = 0; i < out_bytes; ++i) {
    const bool written = i < 1024 && i / 16 % 2 == 0;
    ASSERT_EQ(done.out[i], written ? done.in[i] : untouched) << i;
  }
}

TEST(Vocabulary, NvidiaInstructionsDoWhatTheirCommentsSay) {
  const auto provider = provider_under_test();
  if (provider->kind() != hip::ProviderKind::cuda) GTEST_SKIP() << "only with WAVETUNE_TEST_DEVICE=cuda";
  hip::test::Kernels kernels(std::string(vocabulary_kernels) + nvidia_kernels, provider);
  EXPECT_EQ(run(kernels, "matrix", 1, 32).errors, none);
  EXPECT_EQ(run(kernels, "copies", 1, 64).errors, none);
  const int capability = std::stoi(provider->devices().front().arch.substr(std::string_view("sm_").size()));
  if (capability >= 90) {
    EXPECT_EQ(run(kernels, "pipeline", 264, 256).errors, none);
  }
}

/// Kernels that begin as templates/common/start.hip has it, each reading what others of its predecessor's blocks wrote.
TEST(Vocabulary, KernelsThatOverlapSeeWhatTheirPredecessorsWrote) {
  constexpr unsigned blocks = 300, threads = 128, count = blocks * threads, launches = 200;
  hip::test::Kernels kernels(std::string(embedded_source("templates/common/start.hip")) + R"(
    struct Chain { const unsigned* from; unsigned* to; unsigned count; };
    extern "C" __global__ __launch_bounds__(128) void chain(Chain p) {
      overlap::begin();
      const unsigned i = blockIdx.x * 128 + threadIdx.x;
      p.to[i] = p.from[(i + 12345) % p.count] + 1;
    }
  )",
                             provider_under_test());
  const hip::Api& api = kernels.api;
  const hip::DeviceBuffer even(api, count * sizeof(unsigned)), odd(api, count * sizeof(unsigned));
  hip::check(api, api.hipMemset(even.get(), 0, even.bytes()), "hipMemset");
  hip::check(api, api.hipDeviceSynchronize(), "hipDeviceSynchronize");
  for (unsigned i = 0; i < launches; ++i) {
    const struct {
      const void* from;
      void* to;
      unsigned elements;
    } chain{(i % 2 == 0 ? even : odd).get(), (i % 2 == 0 ? odd : even).get(), count};
    hip::check(api, kernels.launch("chain", blocks, threads, chain), "chain");
  }
  hip::check(api, kernels.synchronize(), "chain");
  EXPECT_EQ(kernels.read<unsigned>(even, count), std::vector<unsigned>(count, launches));
}

/// NVRTC in the compile service; skips the test, with the reason, where there is none.
class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
    if (!search.found) GTEST_SKIP() << search.missing();
  }
  jit::CompileResult compile(const char* arch, const std::string& source) {
    jit::CompileOptions options;
    options.workers = 1;
    options.worker_executable = WAVETUNE_BINARY;
    options.cache_directory = directory_.path() / "cache";
    const jit::CompileTarget target = jit::compile_target_for_arch(arch);
    return jit::CompileService(options).compile({target.device, target.prelude + "\n" + source, target.options});
  }

 private:
  process::TemporaryDirectory directory_{"wavetune-vocabulary-test"};
};

TEST_F(Nvrtc, CompilesTheVocabularyForEveryArchitecture) {
  for (const char* arch : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"}) {
    const jit::CompileResult result = compile(arch, std::string(vocabulary_kernels) + nvidia_kernels);
    EXPECT_EQ(db::to_string(result.outcome), "ok") << arch << "\n" << result.log.substr(0, 2000);
  }
}

/// Words that kernels from outside use, of CUDA and of HIP; NVRTC is given no headers.
TEST_F(Nvrtc, CompilesPlainCudaAndHip) {
  const jit::CompileResult result = compile("sm_90a", kernel_unit({}, R"(
    __device__ float twice(half h) { return 2.0f * __half2float(h); }
    extern "C" __global__ void plain(float* a, const __nv_bfloat16* b, half* h, uint32_t n, hip_bfloat16* c) {
      const int64_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
      assert(i < INT_MAX);
      if (i >= n) return;
      const float4 four = make_float4(1, 2, 3, FLT_MAX);
      a[i] = expf(b[i]) + __expf(a[i]) + fminf(INFINITY, a[i]) + four.w * NAN + __bfloat162float(b[i + 1]) + twice(h[i]);
      c[i] = __float2bfloat16(a[i]);
      h[i] += __shfl_down_sync(0xFFFFFFFF, a[i], 1) + __shfl_xor(a[i], 3) + __shfl(a[i], 2) + __shfl_up(a[i], 1u);
      if (__any(a[i] > M_PI) && !__all(i > 3) && __popcll(__ballot(i > 2)) > 1) atomicAdd(a, 1.0f);
    }
  )"));
  EXPECT_EQ(db::to_string(result.outcome), "ok") << result.log.substr(0, 2000);
}

}  // namespace
}  // namespace wavetune::templates::test
