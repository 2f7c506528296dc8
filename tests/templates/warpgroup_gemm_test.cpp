// Path `warpgroup` of gemm and grouped_gemm: what the copy engine is told, what the space offers, and, on a GPU that
// has the path, many of its configurations against the reference on ragged shapes.
#include <gtest/gtest.h>

#include "db/base/error.h"
#include "family_samples.h"
#include "operator_harness.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "templates/gemm/tensor_map.h"
#include "templates/gemm/warpgroup.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

DeviceLimits hopper() { return hip::cuda::limits_of_arch("sm_90a"); }

Problem gemm_problem(const std::string& dtype, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {"gemm", dtype, {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}};
}
Problem grouped_problem(const std::string& dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t swiglu) {
  return {"grouped_gemm", dtype, {{"m", m}, {"topk", 4}, {"experts", 6}, {"n", n}, {"k", k}, {"swiglu", swiglu}}};
}

std::vector<Config> sample_of(const Problem& problem, std::size_t count) {
  return path_sample(problem, hopper(), matrix_path::warpgroup, count);
}

class WarpgroupGemm : public testing::TestWithParam<const char*> {};

TEST_P(WarpgroupGemm, MatchesReferenceOnRaggedShapes) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const std::string dtype = GetParam();
  const Problem largest = gemm_problem(dtype, 1, 300, 544, 2080);
  expect_all_match({largest, gemm_problem(dtype, 1, 129, 203, 2080), gemm_problem(dtype, 1, 1, 64, 2112),
                    gemm_problem(dtype, 1, 515, 96, 2048)},
                   sample_of(largest, family_points()));
}

INSTANTIATE_TEST_SUITE_P(Formats, WarpgroupGemm,
                         testing::Values("bf16", "bf16_f32", "fp8_block", "fp8_token", "bf16_mxfp4"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(WarpgroupGemmBatches, MatchReference) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const Problem problem = gemm_problem("bf16", 5, 130, 200, 576);
  expect_all_match({problem, gemm_problem("bf16", 5, 70, 200, 576)}, sample_of(problem, 12));
}

class WarpgroupGroupedGemm : public testing::TestWithParam<const char*> {};

TEST_P(WarpgroupGroupedGemm, MatchesReferenceOnRaggedShapes) {
  if (gpu_limits().arch != "sm_90a") GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  const std::string dtype = GetParam();
  for (const std::int64_t swiglu : {0, 1}) {
    const Problem largest = grouped_problem(dtype, 200, 256, 1056, swiglu);
    expect_all_match(
        {largest, grouped_problem(dtype, 37, 384, 1056, swiglu), grouped_problem(dtype, 1, 128, 1088, swiglu)},
        sample_of(largest, family_points() / 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, WarpgroupGroupedGemm, testing::Values("bf16", "fp8_block", "bf16_mxfp4"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(WarpgroupSpace, OffersTilesForManyRowsAndIsValidByDefault) {
  for (const char* dtype : {"bf16", "bf16_f32", "fp8_block", "fp8_token", "bf16_mxfp4"}) {
    for (const std::int64_t m : {64, 256, 4096}) {
      const Problem problem = gemm_problem(dtype, 1, m, 6144, 6144);
      const std::vector<Config> configs = sample_of(problem, 100'000);
      RecordProperty(std::string(dtype) + std::to_string(m), static_cast<int>(configs.size()));
      EXPECT_GE(configs.size(), 10u) << dtype << " m=" << m;
      EXPECT_LE(configs.size(), 1000u) << dtype << " m=" << m;
      const Operator& op = get_operator("gemm");
      const Space space = op.space(problem, hopper());
      EXPECT_TRUE(space.valid(op.default_config(problem, hopper()))) << dtype << " m=" << m;
    }
  }
}

TEST(WarpgroupSpace, ComesInForTensOfRows) {
  EXPECT_TRUE(sample_of(gemm_problem("bf16", 1, 8, 2048, 2048), 1).empty());
  EXPECT_FALSE(sample_of(gemm_problem("bf16", 1, 64, 2048, 2048), 1).empty());
}

// The words are what cuTensorMapEncodeTiled of CUDA 13.0 wrote for the same operands.
TEST(TensorMaps, AreWhatTheDriverWrites) {
  const auto* const data = reinterpret_cast<const void*>(std::uintptr_t{0x7f9c47e00000});
  const TensorMap wide = tensor_map({data, 1024, 100000, 256, 1040, 104000000}, 128, 256);
  const std::array<std::uint64_t, 16> wide_words{0x7f9c47e00000, 0x4100006020,       0x632ea0, 0x0,    0x1869f000003ff,
                                                 0xff,           0x7f00000000000000, 0xff,     0x8000, 0x400};
  EXPECT_EQ(wide.words, wide_words);
  const TensorMap narrow = tensor_map({data, 3072, 256, 8, 3072, 786432}, 64, 64);
  const std::array<std::uint64_t, 16> narrow_words{0x7f9c47e00000,     0xc000004020, 0xc000, 0x0,  0xff00000bff, 0x7,
                                                   0x3f00000000000000, 0x3f,         0x1000, 0x200};
  EXPECT_EQ(narrow.words, narrow_words);
}

TEST(TensorMaps, RefuseWhatTheEngineCannotTake) {
  const auto* const data = reinterpret_cast<const void*>(std::uintptr_t{0x1000});
  const auto* const odd = reinterpret_cast<const void*>(std::uintptr_t{0x1008});
  EXPECT_THROW((void)tensor_map({odd, 128, 8, 1, 128, 1024}, 128, 8), Error);
  EXPECT_THROW((void)tensor_map({data, 128, 8, 1, 136, 1088}, 128, 8), Error);
  EXPECT_THROW((void)tensor_map({data, 128, 8, 2, std::int64_t{1} << 37, std::int64_t{1} << 40}, 128, 8), Error);
  // The stride of a single row or matrix does not matter.
  EXPECT_NO_THROW((void)tensor_map({data, 128, 1, 1, 136, 8}, 128, 8));
}

}  // namespace
}  // namespace wavetune::templates::test
