// mla_attention with full, short and empty lists, in all paths, with and without parts.
#include <gtest/gtest.h>

#include "operator_harness.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

std::vector<db::NamedInts> shapes() {
  const auto shape = [](std::int64_t m, std::int64_t heads, std::int64_t latent, std::int64_t rope, std::int64_t topk,
                        std::int64_t slots) {
    return db::NamedInts{{"m", m},       {"heads", heads}, {"latent", latent},
                         {"rope", rope}, {"topk", topk},   {"slots", slots}};
  };
  return {shape(9, 8, 64, 32, 100, 333), shape(1, 16, 64, 32, 130, 200), shape(3, 3, 64, 32, 17, 9),
          shape(17, 1, 64, 32, 1, 1)};
}

std::vector<Config> each_path(std::int64_t vec) {
  const auto config = [&](std::int64_t path, std::int64_t heads, std::int64_t index_tile, std::int64_t tile,
                          std::int64_t threads, std::int64_t parts) {
    return Config{{"path", path},  {"heads_per_block", heads}, {"index_tile", index_tile},
                  {"tile", tile},  {"threads", threads},       {"vec", vec},
                  {"parts", parts}};
  };
  return {config(0, 4, 8, 4, 1, 1),    config(0, 2, 16, 8, 1, 4),    config(1, 4, 16, 1, 64, 1),
          config(1, 8, 16, 1, 128, 4), config(2, 16, 32, 1, 128, 1), config(2, 16, 16, 1, 64, 4)};
}

class MlaAttention : public testing::TestWithParam<const char*> {};

TEST_P(MlaAttention, MatchesReference) {
  OperatorCase c{"mla_attention", GetParam(), shapes()};
  c.samples = 3;
  c.configs = each_path(split_dtype(GetParam()).input == DType::f32 ? 4 : 8);
  check_operator(c);
}

TEST_P(MlaAttention, MatchesReferenceForOddRows) {
  // Rows whose length only small vectors divide, and GLM-5.2's own row.
  OperatorCase c{"mla_attention",
                 GetParam(),
                 {{{"m", 3}, {"heads", 2}, {"latent", 20}, {"rope", 6}, {"topk", 40}, {"slots", 50}}}};
  c.samples = 2;
  check_operator(c);
  c.shapes = {{{"m", 2}, {"heads", 8}, {"latent", 512}, {"rope", 64}, {"topk", 300}, {"slots", 1000}}};
  c.layouts = {Layout::dense};
  check_operator(c);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, MlaAttention, testing::Values("f32", "bf16"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(MlaAttentionSpace, HasHundredsOfPointsForServedShapes) {
  const Operator& op = get_operator("mla_attention");
  for (const DeviceLimits& limits : {device_limits(), mi355x_limits()}) {
    for (const std::int64_t heads : {8, 64}) {
      const Problem problem{
          "mla_attention",
          "bf16",
          {{"m", 16}, {"heads", heads}, {"latent", 512}, {"rope", 64}, {"topk", 2048}, {"slots", 100000}}};
      EXPECT_GE(op.space(problem, limits).enumerate().size(), 300u) << limits.arch << " heads=" << heads;
    }
  }
}

}  // namespace
}  // namespace wavetune::templates::test
