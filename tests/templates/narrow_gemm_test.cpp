// Path `narrow` of gemm: what the space offers and the launches say, its kernels compiled by NVRTC, and, on a GPU that
// has the path, many of its configurations against the reference on ragged shapes.
#include <gtest/gtest.h>

#include <algorithm>

#include "compile_all.h"
#include "db/trial.h"
#include "family_samples.h"
#include "operator_harness.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "runtime/hip/cuda/nvrtc_install.h"
#include "templates/gemm/narrow.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

DeviceLimits hopper() { return hip::cuda::limits_of_arch("sm_90a"); }

Problem gemm_problem(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  return {"gemm", dtype, {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}};
}

std::vector<Config> sample_of(const Problem& problem, std::size_t count) {
  return path_sample(problem, hopper(), matrix_path::narrow, count);
}

const char* const formats[] = {"bf16", "bf16_f32", "fp8_block", "fp8_token", "bf16_mxfp4", "fp8_mxfp4"};

TEST(NarrowSpace, OffersTilesForFewRows) {
  for (const char* dtype : formats) {
    for (const std::int64_t m : {1, 8, 16, 32}) {
      for (const auto& [n, k] : std::vector<std::pair<int, int>>{{2624, 6144}, {19360, 6144}, {6144, 16384}}) {
        const std::size_t count = sample_of(gemm_problem(dtype, m, n, k), 100'000).size();
        EXPECT_GE(count, 3u) << dtype << " m=" << m << " n=" << n << " k=" << k;
        EXPECT_LE(count, 250u) << dtype << " m=" << m << " n=" << n << " k=" << k;
      }
    }
    EXPECT_TRUE(sample_of(gemm_problem(dtype, 33, 6144, 6144), 1).empty()) << dtype;
  }
}

// What a person gets who asks for more blocks of a cluster than there are sums to share out.
TEST(NarrowSpace, GivesTheBlocksOfAClusterSums) {
  const Space space = get_operator("gemm").space(gemm_problem("bf16", 1, 6144, 6144), hopper());
  for (const Config& config : sample_of(gemm_problem("bf16", 1, 6144, 6144), 100'000))
    EXPECT_LE(config.at("split_k"), 4);
  Config config = sample_of(gemm_problem("bf16", 1, 6144, 6144), 1).front();
  config["split_k"] = 8;
  ASSERT_TRUE(space.violation(config));
  EXPECT_NE(space.violation(config)->find("sums"), std::string::npos) << *space.violation(config);
}

TEST(NarrowLaunches, FillTheDeviceAndStayWithinItsLds) {
  for (const char* dtype : formats) {
    for (const std::int64_t m : {1, 16, 32}) {
      const Problem problem = gemm_problem(dtype, m, 19360, 6144);
      const Operator& op = get_operator("gemm");
      for (const Config& config : sample_of(problem, 100'000)) {
        const Launch launch = dry_launches(op, problem, config).front();
        const std::string where = problem.key() + " " + db::to_text(config);
        EXPECT_LE(launch.lds_bytes + op.static_lds_bytes(problem, config, launch.kernel, hopper()), hopper().lds_bytes)
            << where;
        EXPECT_EQ(launch.grid[0] % config.at("split_k"), 0) << where;
        EXPECT_GE(launch.grid[0], 64u) << where;
        EXPECT_LE(launch.grid[0], 132u) << where;
      }
    }
  }
}

class NarrowKernels : public testing::TestWithParam<const char*> {};

TEST_P(NarrowKernels, Compile) {
  const hip::cuda::NvrtcSearch search = hip::cuda::find_nvrtc();
  if (!search.found) GTEST_SKIP() << search.missing();
  const jit::CompileTarget target = jit::compile_target_for_arch("sm_90a");
  for (const std::int64_t m : {8, 32}) {
    const Problem problem = gemm_problem(GetParam(), m, 6144, 6144);
    const std::vector<Config> configs = sample_of(problem, std::max<std::size_t>(2, family_points() / 8));
    const std::vector<jit::CompileResult> compiled = compile_all(target, get_operator("gemm"), problem, configs);
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const jit::CompileResult& result = compiled[i];
      const std::string where = problem.key() + " " + db::to_text(configs[i]);
      ASSERT_EQ(db::to_string(result.outcome), db::to_string(db::Outcome::ok)) << where << "\n"
                                                                               << result.log.substr(0, 1000);
      // A few words, where a second block of a multiprocessor leaves a lane 96 registers.
      EXPECT_LE(result.resources.scratch_bytes.value_or(0), 64) << where;
      EXPECT_EQ(result.log.find("serialized"), std::string::npos) << where << "\n" << result.log.substr(0, 1000);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nvrtc, NarrowKernels, testing::ValuesIn(formats),
                         [](const auto& suite) { return std::string(suite.param); });

class NarrowGemm : public testing::TestWithParam<const char*> {};

TEST_P(NarrowGemm, MatchesReferenceOnRaggedShapes) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const std::string dtype = GetParam();
  for (const std::int64_t m : {1, 16, 32}) {
    // More rows than a tile has, k that ends within a step, columns that end within a tile, more tiles than clusters.
    expect_all_match({gemm_problem(dtype, m, 544, 4128), gemm_problem(dtype, 5, 200, 1056),
                      gemm_problem(dtype, 37, 333, 2080), gemm_problem(dtype, m, 9000, 544)},
                     sample_of(gemm_problem(dtype, m, 2624, 6144), family_points() / 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, NarrowGemm, testing::ValuesIn(formats),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(NarrowGemmBatches, MatchReference) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const Problem problem = gemm_problem("bf16", 16, 200, 576, 5);
  expect_all_match({problem, gemm_problem("bf16", 3, 200, 512, 16)}, sample_of(problem, 12));
}

}  // namespace
}  // namespace wavetune::templates::test
