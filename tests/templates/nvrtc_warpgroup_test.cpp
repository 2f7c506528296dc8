// Path `warpgroup` compiled by NVRTC for Hopper at shapes with many rows: its kernels are timed to the register, so
// none may spill, and the compiler may not serialise their matrix instructions. No GPU is needed.
#include <gtest/gtest.h>

#include <algorithm>

#include "compile_all.h"
#include "db/trial.h"
#include "family_samples.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "templates/gemm/warpgroup.h"

namespace wavetune::templates::test {
namespace {

class WarpgroupKernels : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WarpgroupKernels, CompileWithoutSpills) {
  const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
  if (!search.found) GTEST_SKIP() << search.missing();
  const auto& [name, dtype] = GetParam();
  const Problem problem =
      name == std::string_view("gemm")
          ? Problem{name, dtype, {{"batch", 1}, {"m", 4096}, {"n", 6144}, {"k", 4096}}}
          : Problem{name, dtype, {{"m", 4096}, {"topk", 8}, {"experts", 256}, {"n", 512}, {"k", 6144}, {"swiglu", 1}}};
  const Operator& op = get_operator(problem.op);
  const jit::CompileTarget target = jit::compile_target_for_arch("sm_90a");
  const std::vector<Config> configs =
      path_sample(problem, target.limits, matrix_path::warpgroup, std::max<std::size_t>(2, family_points() / 8));
  const std::vector<jit::CompileResult> compiled = compile_all(target, op, problem, configs);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const jit::CompileResult& result = compiled[i];
    const std::string where = problem.key() + " " + db::to_text(configs[i]);
    ASSERT_EQ(db::to_string(result.outcome), db::to_string(db::Outcome::ok)) << where << "\n"
                                                                             << result.log.substr(0, 1000);
    EXPECT_EQ(result.resources.scratch_bytes.value_or(0), 0) << where;
    EXPECT_EQ(result.log.find("serialized"), std::string::npos) << where << "\n" << result.log.substr(0, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, WarpgroupKernels,
                         testing::Values(std::pair{"gemm", "bf16"}, std::pair{"gemm", "bf16_f32"},
                                         std::pair{"gemm", "fp8_block"}, std::pair{"gemm", "fp8_token"},
                                         std::pair{"gemm", "bf16_mxfp4"}, std::pair{"grouped_gemm", "bf16"},
                                         std::pair{"grouped_gemm", "fp8_block"},
                                         std::pair{"grouped_gemm", "bf16_mxfp4"}),
                         [](const auto& suite) { return std::string(suite.param.first) + "_" + suite.param.second; });

}  // namespace
}  // namespace wavetune::templates::test
