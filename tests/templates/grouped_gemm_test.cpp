// grouped_gemm with skewed routings, in all paths, with and without SwiGLU.
#include <gtest/gtest.h>

#include "operator_harness.h"
#include "templates/gemm/product.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

/// More pairs than experts and fewer, experts without pairs, dimensions that no tile divides.
std::vector<db::NamedInts> shapes(std::int64_t swiglu) {
  const auto shape = [&](std::int64_t m, std::int64_t topk, std::int64_t experts, std::int64_t n, std::int64_t k) {
    return db::NamedInts{{"m", m}, {"topk", topk}, {"experts", experts}, {"n", n}, {"k", k}, {"swiglu", swiglu}};
  };
  return {shape(24, 4, 8, 48, 256), shape(5, 4, 9, 70, 96), shape(1, 4, 33, 48, 33),
          shape(3, 4, 4, 17, 200),  shape(1, 4, 5, 1, 1),   shape(40, 4, 7, 33, 40)};
}

std::vector<Config> each_path(DType type) {
  const std::int64_t run = type == DType::f32 ? 4 : 8;
  const auto config = [](std::int64_t path, std::int64_t bm, std::int64_t bn, std::int64_t bk, std::int64_t tm,
                         std::int64_t tn, std::int64_t vec, std::int64_t split_k) {
    return Config{{"path", path}, {"bm", bm},   {"bn", bn},           {"bk", bk},        {"tm", tm},
                  {"tn", tn},     {"vec", vec}, {"split_k", split_k}, {"slots_first", 0}};
  };
  return {config(product_path::direct, 16, 32, 32, 2, 4, 8, 2), config(product_path::staged, 16, 32, 16, 4, 8, 4, 2),
          config(product_path::matrix, 16, 32, 64, 16, 16, run, 2),
          config(product_path::matrix_direct, 16, 32, 64, 16, 16, 8, 1),
          config(product_path::shared_k, 4, 16, 256, 2, 2, 8, 2)};
}

class GroupedGemm : public testing::TestWithParam<const char*> {};

TEST_P(GroupedGemm, MatchesReference) {
  for (const std::int64_t swiglu : {0, 1}) {
    OperatorCase c{"grouped_gemm", GetParam(), shapes(swiglu)};
    c.samples = 2;
    c.configs = each_path(split_dtype(GetParam()).input);
    c.shapes_per_layout = 2;
    check_operator(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, GroupedGemm, testing::Values("f32", "bf16"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(GroupedGemmSpace, HasHundredsOfPointsForServedShapes) {
  const Operator& op = get_operator("grouped_gemm");
  for (const DeviceLimits& limits : {device_limits(), gpu_limits()}) {
    for (const std::int64_t m : {1, 64, 4096}) {
      const Problem problem{
          "grouped_gemm", "bf16", {{"m", m}, {"topk", 9}, {"experts", 257}, {"n", 256}, {"k", 6144}, {"swiglu", 1}}};
      EXPECT_GE(op.space(problem, limits).enumerate().size(), 300u) << limits.arch << " m=" << m;
    }
  }
}

TEST(GroupedGemm, CountsOnlyExpertsThatAreTouched) {
  const Operator& op = get_operator("grouped_gemm");
  const auto bytes = [&](std::int64_t m) {
    return op
        .cost(
            {"grouped_gemm", "bf16", {{"m", m}, {"topk", 8}, {"experts", 256}, {"n", 512}, {"k", 1024}, {"swiglu", 0}}})
        .bytes;
  };
  const double expert = 512.0 * 1024 * 2;
  EXPECT_NEAR(bytes(1) / expert, 8, 0.2);              // one token: its 8 experts
  EXPECT_NEAR(bytes(1024) / expert, 256 + 16 + 8, 1);  // all experts, and the activations
}

}  // namespace
}  // namespace wavetune::templates::test
