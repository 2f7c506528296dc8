// Spaces of gemm and grouped_gemm on an H200 and what their launches say, and, on a GPU that has it, the path for few
// rows (stream) against the reference. Samples of the space are compiled in nvrtc_families_test.cpp.
#include <gtest/gtest.h>

#include "family_samples.h"
#include "operator_harness.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "templates/gemm/narrow.h"
#include "templates/gemm/nvidia.h"
#include "templates/gemm/stream.h"
#include "templates/gemm/warpgroup.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

DeviceLimits h200() { return hip::cuda::limits_of_arch("sm_90a"); }

Problem dense(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {"gemm", dtype, {{"batch", 1}, {"m", m}, {"n", n}, {"k", k}}};
}
Problem experts(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t swiglu) {
  return {"grouped_gemm", dtype, {{"m", m}, {"topk", 8}, {"experts", 256}, {"n", n}, {"k", k}, {"swiglu", swiglu}}};
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::int64_t m : {1, 8, 16, 64, 256, 4096}) {
    for (const char* dtype : {"bf16", "bf16_f32", "fp8_token", "fp8_block", "bf16_mxfp4", "fp8_mxfp4"}) {
      for (const auto& [n, k] : std::vector<std::pair<int, int>>{{2624, 6144}, {256, 6144}, {19360, 6144}, {2048, 512}})
        all.push_back(dense(dtype, m, n, k));
    }
    for (const char* dtype : {"bf16", "fp8_block", "bf16_mxfp4", "fp8_mxfp4"}) {
      all.push_back(experts(dtype, m, 512, 6144, 1));
      all.push_back(experts(dtype, m, 6144, 512, 0));
    }
  }
  return all;
}

TEST(NvidiaSpace, HasEnoughPointsAndFewEnoughToList) {
  for (const Problem& problem : problems()) {
    const Space space = get_operator(problem.op).space(problem, h200());
    const std::size_t size = space.enumerate().size();
    EXPECT_GE(size, 15u) << problem.key();
    EXPECT_LE(size, 60'000u) << problem.key();
  }
}

TEST(NvidiaSpace, HasTheDefaultConfiguration) {
  for (const Problem& problem : problems()) {
    const Operator& op = get_operator(problem.op);
    const Space space = op.space(problem, h200());
    const Config config = op.default_config(problem, h200());
    EXPECT_TRUE(space.valid(config)) << problem.key() << ": " << *space.violation(config);
  }
}

TEST(NvidiaSpace, PathsFollowTheRowsOfX) {
  const auto paths = [](std::int64_t m, const char* dtype) {
    const Space space = get_operator("gemm").space(dense(dtype, m, 6144, 6144), h200());
    for (const Parameter& parameter : space.parameters()) {
      if (parameter.name == "path") return parameter.values;
    }
    return std::vector<std::int64_t>{};
  };
  EXPECT_EQ(paths(1, "bf16"), (std::vector<std::int64_t>{matrix_path::stream, matrix_path::narrow}));
  EXPECT_EQ(paths(4096, "bf16"), std::vector<std::int64_t>{matrix_path::warpgroup});
  EXPECT_EQ(paths(8, "fp8_mxfp4"), (std::vector<std::int64_t>{matrix_path::stream, matrix_path::narrow}));
}

TEST(NvidiaLaunches, TakeAsMuchLdsAsTheSpaceAllows) {
  for (const Problem& problem : problems()) {
    const Operator& op = get_operator(problem.op);
    const Config config = op.default_config(problem, h200());
    for (const Launch& launch : dry_launches(op, problem, config)) {
      const std::int64_t fixed = op.static_lds_bytes(problem, config, launch.kernel, h200());
      EXPECT_LE(fixed + static_cast<std::int64_t>(launch.lds_bytes), h200().lds_bytes) << problem.key();
    }
  }
}

TEST(NvidiaConstants, DoNotDependOnTheRowsOfX) {
  const Operator& op = get_operator("gemm");
  for (const char* dtype : {"bf16", "fp8_mxfp4"}) {
    const Config config = op.default_config(dense(dtype, 8, 6144, 6144), h200());
    EXPECT_EQ(op.constants(dense(dtype, 1, 6144, 6144), config), op.constants(dense(dtype, 500, 6144, 6144), config));
  }
}

class StreamGemm : public testing::TestWithParam<const char*> {};

TEST_P(StreamGemm, MatchesReferenceOnRaggedShapes) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const std::string dtype = GetParam();
  std::vector<Config> configs;
  for (const std::int64_t m : {1, 16}) {
    for (Config& config : path_sample(dense(dtype, m, 2624, 6144), h200(), matrix_path::stream, family_points() / 2))
      configs.push_back(std::move(config));
  }
  expect_all_match({dense(dtype, 1, 200, 1056), dense(dtype, 5, 48, 2080), dense(dtype, 20, 333, 544)}, configs);
}

INSTANTIATE_TEST_SUITE_P(Formats, StreamGemm,
                         testing::Values("bf16", "bf16_f32", "fp8_block", "fp8_token", "bf16_mxfp4", "fp8_mxfp4"),
                         [](const auto& suite) { return std::string(suite.param); });

}  // namespace
}  // namespace wavetune::templates::test
