// The matrix paths of gemm, as compiled for gfx950, on the CPU's imitation of its instructions: every sampled
// configuration against the float64 reference on ragged shapes.
#include <gtest/gtest.h>

#include <algorithm>

#include "db/trial.h"
#include "family_samples.h"
#include "operator_harness.h"
#include "templates/gemm/matrix.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

Problem problem_of(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {"gemm", dtype, {{"batch", 1}, {"m", m}, {"n", n}, {"k", k}}};
}

std::vector<Config> sample_of(const std::string& family) {
  return family_sample(families().at(family), gpu_limits(), family_points());
}

class MatrixGemm : public testing::TestWithParam<const char*> {};

TEST_P(MatrixGemm, MatchesReferenceOnRaggedShapes) {
  const std::string dtype = GetParam();
  std::vector<Problem> problems;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 48, 320}, {3, 200, 1056}, {17, 70, 544}, {64, 33, 96}, {100, 300, 800}}) {
    problems.push_back(problem_of(dtype, m, n, k));
  }
  expect_all_match(problems, sample_of("gemm_" + dtype));
}

INSTANTIATE_TEST_SUITE_P(Formats, MatrixGemm,
                         testing::Values("bf16", "bf16_f32", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4",
                                         "bf16_mxfp4"),
                         [](const auto& suite) { return std::string(suite.param); });

class MatrixGroupedGemm : public testing::TestWithParam<const char*> {};

TEST_P(MatrixGroupedGemm, MatchesReferenceOnRaggedShapes) {
  const std::string dtype = GetParam();
  // Groups of 128 columns must not straddle gate and up.
  const std::int64_t n = dtype == "fp8_block" ? 128 : 96;
  for (const std::int64_t swiglu : {0, 1}) {
    const auto problem = [&](std::int64_t m, std::int64_t topk, std::int64_t experts, std::int64_t cols,
                             std::int64_t k) {
      return Problem{"grouped_gemm",
                     dtype,
                     {{"m", m}, {"topk", topk}, {"experts", experts}, {"n", cols}, {"k", k}, {"swiglu", swiglu}}};
    };
    const std::vector<Config> all = sample_of("grouped_gemm_" + dtype);
    // Each half of the sample once: with and without SwiGLU.
    std::vector<Config> configs;
    for (std::size_t i = static_cast<std::size_t>(swiglu); i < all.size(); i += 2) configs.push_back(all[i]);
    expect_all_match({problem(17, 4, 6, n, 320), problem(1, 4, 9, n, 160), problem(100, 2, 3, n + 128, 576)}, configs);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, MatrixGroupedGemm,
                         testing::Values("bf16", "fp8_block", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(MatrixSpace, HasEnoughPointsAndFewEnoughToList) {
  const Operator& op = get_operator("gemm");
  for (const char* dtype : {"bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"}) {
    for (const std::int64_t m : {1, 64, 4096}) {
      const Problem problem = problem_of(dtype, m, 2624, 6144);
      const Space space = op.space(problem, gpu_limits());
      const std::size_t size = space.enumerate().size();
      RecordProperty(std::string(dtype) + std::to_string(m), static_cast<int>(size));
      EXPECT_GE(size, 1000u) << dtype << " m=" << m;
      EXPECT_LE(size, 60'000u) << dtype << " m=" << m;
      EXPECT_TRUE(space.valid(op.default_config(problem, gpu_limits())))
          << *space.violation(op.default_config(problem, gpu_limits()));
    }
  }
}

}  // namespace
}  // namespace wavetune::templates::test
