// Pruning by the code object: needs hipRTC, no GPU.
#include "search/driver/static_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/hip/amd/hiprtc_install.h"
#include "runtime/jit/target.h"
#include "templates/registry.h"
#include "tests/search/support/planted_operator.h"
#include "tests/search/support/scratch.h"

namespace wavetune::search {
namespace {

using namespace test;
using testing::HasSubstr;

class StaticChecks : public testing::Test {
 protected:
  void SetUp() override {
    const hip::amd::HiprtcSearch search = hip::amd::find_hiprtc();
    if (!search.found) GTEST_SKIP() << "no hipRTC in " << search.looked << "; ./setup.sh fetches one";
    target_ = jit::compile_target_for_arch("gfx950");
  }
  /// A kernel of the planted operator's name, with this body.
  std::vector<std::byte> compile(const std::string& body) {
    return run("extern \"C\" __global__ __launch_bounds__(64) void planted_main(float* x, float* y, int n) {" + body +
               "}");
  }
  std::vector<std::byte> run(const std::string& source) {
    jit::CompileService service(scratch_.compile_options());
    jit::CompileResult result = service.compile({target_.device, source, target_.options});
    EXPECT_EQ(result.outcome, db::Outcome::ok) << result.log;
    return std::move(result.code);
  }
  StaticCheck check(const std::string& body, Fate fate = good) {
    return check_statically(planted_operator(), planted_problem(), planted_config(fate), compile(body), target_.limits);
  }

  Scratch scratch_;
  jit::CompileTarget target_;
};

TEST_F(StaticChecks, AGoodKernelPassesWithItsOccupancy) {
  const StaticCheck result = check("y[threadIdx.x] = x[n];");
  EXPECT_EQ(result.outcome, db::Outcome::ok) << result.reason;
  EXPECT_EQ(result.occupancy, 8);
}

TEST_F(StaticChecks, PrivateArraysInScratchArePruned) {
  const StaticCheck result = check(
      "float a[200]; for (int i = 0; i < 200; ++i) a[i] = x[i * n]; y[threadIdx.x] = a[x[0] > 1 ? n : n / 2];"
      "y[64] = a[n + (int)x[3]];");
  EXPECT_EQ(db::to_string(result.outcome), db::to_string(db::Outcome::pruned));
  EXPECT_THAT(result.reason, HasSubstr("planted_main keeps"));
  EXPECT_THAT(result.reason, HasSubstr("scratch"));
}

TEST_F(StaticChecks, SpillsArePruned) {
  // 160 values live at once in a kernel that may have 64 registers (eight waves on each SIMD).
  const std::vector<std::byte> code =
      run("extern \"C\" __global__ __launch_bounds__(64) __attribute__((amdgpu_waves_per_eu(8, 8))) void "
          "planted_main(volatile float* x, float* y, int n) { float a[160];\n#pragma unroll\n"
          "for (int i = 0; i < 160; ++i) a[i] = x[i * 64 + threadIdx.x];\n__syncthreads();\n#pragma unroll\n"
          "for (int i = 0; i < 160; ++i) y[i * n + threadIdx.x] = a[i] * a[159 - i]; }");
  const StaticCheck result =
      check_statically(planted_operator(), planted_problem(), planted_config(good), code, target_.limits);
  EXPECT_EQ(db::to_string(result.outcome), db::to_string(db::Outcome::pruned));
  EXPECT_THAT(result.reason, HasSubstr("planted_main spills"));
}

TEST_F(StaticChecks, BlocksLargerThanTheKernelWasCompiledForAreOverTheLimit) {
  const StaticCheck result = check("y[threadIdx.x] = x[n];", too_many_threads);
  EXPECT_EQ(db::to_string(result.outcome), db::to_string(db::Outcome::resource_limit));
  EXPECT_THAT(result.reason, HasSubstr("compiled for at most 64"));
  EXPECT_FALSE(result.occupancy.has_value());
}

TEST_F(StaticChecks, StaticAndDynamicLdsCountTogether) {
  // router asks for dynamic LDS at launch; the kernel here has all but one byte of the rest as static LDS, and one
  // more.
  const templates::Operator& router = templates::get_operator("router");
  const db::Problem problem{"router", "f32", {{"m", 16}, {"experts", 256}, {"topk", 8}, {"shared", 0}}};
  const db::Config config = router.default_config(problem, target_.limits);
  const std::vector<templates::Launch> launches = templates::dry_launches(router, problem, config);
  ASSERT_GT(launches.at(0).lds_bytes, 0u);
  for (const int excess : {0, 1}) {
    const std::string lds = std::to_string(163840 - static_cast<int>(launches.at(0).lds_bytes) + excess);
    const std::vector<std::byte> code = run(
        "extern \"C\" __global__ __launch_bounds__(1024) void " + launches.at(0).kernel +
        "(char* y, int n) { __shared__ char all[" + lds +
        "]; all[threadIdx.x * n] = y[n]; __syncthreads(); y[threadIdx.x] = all[(threadIdx.x + n) % " + lds + "]; }");
    const StaticCheck result = check_statically(router, problem, config, code, target_.limits);
    EXPECT_EQ(db::to_string(result.outcome), db::to_string(excess > 0 ? db::Outcome::resource_limit : db::Outcome::ok))
        << result.reason;
    if (excess > 0) {
      EXPECT_THAT(result.reason, HasSubstr("a block needs 163841 bytes of LDS, a compute unit has 163840"));
    }
  }
}

TEST_F(StaticChecks, OtherTargetsAreNotLookedInto) {
  templates::DeviceLimits cpu;
  cpu.arch = "cpu-x86-64";
  const StaticCheck result = check_statically(planted_operator(), planted_problem(), planted_config(too_many_threads),
                                              compile("y[0] = 1;"), cpu);
  EXPECT_EQ(result.outcome, db::Outcome::ok);
  EXPECT_FALSE(result.occupancy.has_value());
  const std::vector<std::byte> no_elf(100);
  EXPECT_EQ(
      check_statically(planted_operator(), planted_problem(), planted_config(good), no_elf, target_.limits).outcome,
      db::Outcome::ok);
}

}  // namespace
}  // namespace wavetune::search
