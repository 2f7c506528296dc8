// The compile service with NVRTC, which needs no GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "db/base/error.h"
#include "runtime/hip/cuda/cubin.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "runtime/jit/ptxas_report.h"
#include "runtime/jit/target.h"
#include "runtime/process/subprocess.h"
#include "templates/registry.h"
#include "tests/support/error_of.h"

namespace wavetune::jit {
namespace {

using testing::HasSubstr;
using testing::Not;

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
    if (!search.found) GTEST_SKIP() << search.missing();
  }

  CompileOptions options(int workers) const {
    CompileOptions options;
    options.workers = workers;
    options.worker_executable = WAVETUNE_BINARY;
    options.cache_directory = directory_.path() / "cache";
    return options;
  }
  static CompileRequest request(std::string source, const std::string& arch = "sm_90a") {
    return {"cuda", std::move(source), hip::cuda::compile_options(arch)};
  }

 private:
  process::TemporaryDirectory directory_{"wavetune-nvrtc-test"};
};

// Many values that live at once, more than 1024 threads leave registers for.
constexpr const char* spilling = R"(
extern "C" __global__ void __launch_bounds__(1024) k(float* p) {
  float v[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) v[i] = p[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) v[i] *= v[(i * 7 + 3) % 128];
#pragma unroll
  for (int i = 0; i < 128; ++i) p[i * 1024 + threadIdx.x] = v[i];
})";

TEST_F(Nvrtc, GivesACubinWithItsResources) {
  CompileService service(options(1));
  // Without a mark on the helper: functions are device functions.
  const CompileResult result = service.compile(request(R"(
constexpr int next(int a) { return a + 1; }
extern "C" __global__ void __launch_bounds__(256) k(const float* x, float* y) {
  __shared__ float row[300];
  row[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = row[(threadIdx.x + next(6)) % 256];
})"));
  ASSERT_EQ(db::to_string(result.outcome), "ok") << result.log;
  EXPECT_EQ(result.log, "") << "what ptxas reports is no diagnostic";
  ASSERT_TRUE(hip::cuda::is_cubin(result.code));
  EXPECT_EQ(hip::cuda::read_cubin(result.code, "test").arch, "sm_90");
  EXPECT_GT(result.resources.vgpr.value_or(0), 4);
  EXPECT_EQ(result.resources.lds_bytes, 1200);
  EXPECT_EQ(result.resources.scratch_bytes, 0);
  EXPECT_EQ(result.resources.spills, 0);
}

TEST_F(Nvrtc, SaysWhatIsSpilled) {
  const CompileResult result = CompileService(options(1)).compile(request(spilling));
  ASSERT_EQ(db::to_string(result.outcome), "ok") << result.log;
  EXPECT_EQ(result.resources.vgpr, 64);
  EXPECT_GT(result.resources.spills.value_or(0), 50);
  EXPECT_GT(result.resources.scratch_bytes.value_or(0), 200);
}

TEST_F(Nvrtc, ErrorsCarryThePlaceAndTheCompilersText) {
  CompileService service(options(1));
  const CompileResult wrong = service.compile(request("extern \"C\" __global__ void k() { nonsense(); }"));
  EXPECT_EQ(wrong.outcome, db::Outcome::compile_error);
  EXPECT_THAT(wrong.log, testing::AllOf(HasSubstr("kernel.hip(1)"), HasSubstr("nonsense")));
  const CompileResult unknown = service.compile(request("", "sm_9999"));
  EXPECT_EQ(unknown.outcome, db::Outcome::compile_error);
  EXPECT_THAT(unknown.log, HasSubstr("--gpu-architecture"));
}

TEST_F(Nvrtc, WorkersCompileSideBySideAndFindItInTheCacheAgain) {
  const auto source = [](int i) {
    return fmt::format("extern \"C\" __global__ void k(int* p) {{ p[threadIdx.x] = {}; }}", i);
  };
  CompileService service(options(2));
  std::vector<std::shared_future<CompileResult>> futures;
  for (int i = 0; i < 6; ++i) futures.push_back(service.submit(request(source(i))));
  for (auto& future : futures) EXPECT_EQ(db::to_string(future.get().outcome), "ok") << future.get().log;
  const CompileResult again = service.compile(request(source(3)));
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.code, futures[3].get().code);
  EXPECT_NE(service.key(request(source(3))), service.key(request(source(3), "sm_90")));
}

TEST_F(Nvrtc, CompilesAnOperatorForEachArchitectureWithoutAGpu) {
  CompileService service(options(2));
  for (const std::string arch : {"sm_90a", "sm_80", "sm_100a"}) {
    const CompileTarget target = compile_target_for_arch(arch);
    EXPECT_EQ(target.arch, arch);
    EXPECT_EQ(target.device, "cuda");
    EXPECT_EQ(target.compiler, "nvrtc");
    EXPECT_FALSE(target.compiler_place.empty());
    EXPECT_EQ(target.limits.wave_size, 32);
    const templates::Operator& op = templates::get_operator("rmsnorm");
    const db::Problem problem{"rmsnorm", "bf16", {{"m", 16}, {"n", 6144}, {"residual", 0}}};
    const CompileResult result =
        service.compile(request_for(target, op, problem, op.default_config(problem, target.limits)));
    ASSERT_EQ(db::to_string(result.outcome), "ok") << arch << result.log;
    EXPECT_GT(result.resources.vgpr.value_or(0), 0);
  }
}

TEST(NvidiaTarget, ArchitecturesAreNamedAndKnown) {
  EXPECT_EQ(hip::cuda::arch_of(9, 0), "sm_90a");
  EXPECT_EQ(hip::cuda::arch_of(10, 3), "sm_103a");
  EXPECT_EQ(hip::cuda::arch_of(12, 0), "sm_120a");
  EXPECT_EQ(hip::cuda::arch_of(8, 9), "sm_89");
  const templates::DeviceLimits hopper = hip::cuda::limits_of_arch("sm_90a");
  EXPECT_EQ(hopper.lds_bytes, 232448);
  EXPECT_EQ(hopper.cu_count, 132);
  const Error error = test::error_of([] { compile_target_for_arch("sm_35"); });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'sm_35'"), HasSubstr("sm_90a")));
}

TEST(PtxasReport, IsTakenOutOfTheLog) {
  std::string log =
      "kernel.hip(3): warning #177-D: variable \"x\" was declared but never referenced\n"
      "ptxas info    : 4 bytes gmem\n"
      "ptxas info    : Function properties for s\n"
      "ptxas         .     440 bytes stack frame, 456 bytes spill stores, 500 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 440 bytes cumulative stack size\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  db::Resources resources;
  take_ptxas_report(log, resources);
  EXPECT_EQ(log, "kernel.hip(3): warning #177-D: variable \"x\" was declared but never referenced\n");
  EXPECT_EQ(resources.spills, 114);
  std::string other = "k.hip:3:1: error: nothing of ptxas\n";
  db::Resources none;
  take_ptxas_report(other, none);
  EXPECT_EQ(other, "k.hip:3:1: error: nothing of ptxas\n");
  EXPECT_FALSE(none.spills);
}

}  // namespace
}  // namespace wavetune::jit
