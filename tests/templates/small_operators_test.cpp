// The operators around the matrix products, on ragged shapes, in serial and parallel variants.
#include <gtest/gtest.h>

#include <vector>

#include "db/base/error.h"
#include "operator_harness.h"
#include "templates/common/launch.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

using Shapes = std::vector<db::NamedInts>;

Shapes shapes_of(std::vector<const char*> names, std::vector<std::vector<std::int64_t>> rows) {
  Shapes shapes;
  for (const std::vector<std::int64_t>& row : rows) {
    db::NamedInts dims;
    for (std::size_t i = 0; i < names.size(); ++i) dims.emplace(names[i], row.at(i));
    shapes.push_back(std::move(dims));
  }
  return shapes;
}

void check(std::string op, std::string dtype, Shapes shapes, Scalars scalars = {}, std::vector<Config> configs = {}) {
  OperatorCase c{std::move(op), std::move(dtype), std::move(shapes)};
  c.scalars = std::move(scalars);
  c.configs = std::move(configs);
  c.samples = 2;
  check_operator(c);
}

class FloatOperators : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, FloatOperators, testing::Values("f32", "bf16"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(FloatOperators, Embedding) {
  check("embedding", GetParam(), shapes_of({"m", "n", "rows"}, {{5, 128, 40}, {1, 1, 1}, {300, 33, 7}, {2, 1030, 3}}));
}

TEST_P(FloatOperators, SiluMul) {
  check("silu_mul", GetParam(), shapes_of({"m", "n"}, {{3, 256}, {1, 1}, {300, 7}, {2, 1030}}));
}

TEST_P(FloatOperators, CacheWrite) {
  check("cache_write", GetParam(),
        shapes_of({"m", "n", "slots"}, {{9, 64, 50}, {1, 1, 1}, {300, 18, 170}, {2, 1030, 2}}));
}

TEST_P(FloatOperators, MoeCombine) {
  check("moe_combine", GetParam(), shapes_of({"m", "topk", "n"}, {{4, 5, 128}, {1, 1, 1}, {300, 9, 7}, {2, 3, 1030}}));
}

TEST_P(FloatOperators, AllReduce) {
  check("all_reduce", GetParam(), shapes_of({"m", "n", "ranks"}, {{4, 128, 2}, {1, 1, 1}, {300, 7, 8}, {2, 1030, 3}}));
}

TEST_P(FloatOperators, RmsNorm) {
  const Shapes plain = shapes_of({"m", "n", "residual"}, {{5, 128, 0}, {1, 1, 0}, {300, 7, 0}, {2, 1030, 0}});
  const Shapes residual = shapes_of({"m", "n", "residual"}, {{5, 128, 1}, {1, 1, 1}, {300, 7, 1}, {2, 1030, 1}});
  check("rmsnorm", GetParam(), plain, {{"eps", 1e-6}});
  check("rmsnorm", GetParam(), residual);
}

TEST_P(FloatOperators, LayerNorm) {
  const Shapes plain = shapes_of({"m", "n", "residual"}, {{5, 128, 0}, {1, 1, 0}, {300, 7, 0}, {2, 1030, 0}});
  const Shapes residual = shapes_of({"m", "n", "residual"}, {{5, 128, 1}, {3, 33, 1}});
  check("layernorm", GetParam(), plain, {{"eps", 1e-6}});
  check("layernorm", GetParam(), residual);
}

TEST_P(FloatOperators, Rope) {
  check("rope", GetParam(),
        shapes_of({"m", "heads", "n"}, {{5, 8, 16}, {1, 1, 2}, {300, 3, 64}, {2, 70, 6}, {3, 2, 128}}));
}

TEST_P(FloatOperators, IndexerScores) {
  const std::vector<const char*> names = {"m", "heads", "n", "context", "slots", "sequences", "pages", "page"};
  std::vector<Config> tiles = {{{"threads", 128}, {"tiles", 2}, {"vec", 1}}};
  if (gpu_limits().wave_size == 32) {
    for (const std::int64_t stages : {2, 3, 4}) {
      tiles.push_back({{"threads", 64}, {"tiles", 4}, {"vec", 8}, {"stages", stages}});
      tiles.push_back({{"threads", 256}, {"tiles", 16}, {"vec", 8}, {"stages", stages}});
    }
    check("indexer_scores", GetParam(),
          shapes_of(names, {{9, 32, 128, 1000, 2048, 3, 63, 16}, {2, 17, 64, 70, 90, 2, 3, 32}}), {}, tiles);
  }
  check("indexer_scores", GetParam(), shapes_of(names, {{7, 4, 32, 100, 128, 3, 7, 16}, {1, 4, 32, 1, 16, 1, 1, 16}}),
        {}, tiles);
  check("indexer_scores", GetParam(), shapes_of(names, {{5, 33, 48, 300, 960, 2, 5, 64}}), {}, tiles);
  check("indexer_scores", GetParam(), shapes_of(names, {{20, 2, 7, 90, 40, 4, 30, 3}}));
}

TEST(SmallOperators, Quantize) {
  check("quantize", "fp8_block", shapes_of({"m", "k"}, {{3, 384}, {1, 1}, {17, 130}, {64, 200}, {2, 6144}}));
  check("quantize", "fp8_token", shapes_of({"m", "k"}, {{3, 384}, {1, 1}, {17, 130}, {100, 33}, {2, 6144}}));
  check("quantize", "mxfp4", shapes_of({"m", "k"}, {{3, 384}, {1, 32}, {17, 160}, {100, 64}, {2, 6144}}));
  const Operator& op = get_operator("quantize");
  EXPECT_THROW(op.check({"quantize", "mxfp4", {{"m", 1}, {"k", 48}}}), Error);
  EXPECT_THROW(op.check({"quantize", "bf16", {{"m", 1}, {"k", 32}}}), Error);
  EXPECT_THROW(op.check({"quantize", "mxfp4", {{"m", max_rows}, {"k", max_cols}}}), Error);
}

TEST(SmallOperators, TopkSelect) {
  const std::vector<const char*> names = {"m", "context", "topk", "sequences", "pages", "page"};
  check("topk_select", "f32",
        shapes_of(names, {{20, 1000, 64, 3, 63, 16}, {1, 1, 64, 1, 1, 16}, {3, 65, 64, 3, 7, 16}}));
  check("topk_select", "f32", shapes_of(names, {{2, 40000, 2048, 2, 10001, 4}, {3, 2500, 2048, 1, 700, 4}}));
  check("topk_select", "f32", shapes_of(names, {{9, 77, 1, 5, 26, 3}}));
}

TEST(SmallOperators, Router) {
  const std::vector<const char*> names = {"m", "experts", "topk", "shared"};
  const Shapes shapes = shapes_of(
      names, {{5, 16, 4, 1}, {1, 1, 1, 0}, {300, 7, 7, 0}, {33, 256, 8, 1}, {2, 300, 20, 2}, {3, 1000, 6, 0}});
  check("router", "f32", shapes);
  check("router", "f32", shapes_of(names, {{5, 16, 4, 1}}), {{"norm", 0.0}, {"scale", 1.0}});
}

TEST(SmallOperators, MoeSort) {
  check("moe_sort", "i32",
        shapes_of({"m", "topk", "experts"}, {{7, 5, 17}, {1, 1, 1}, {300, 9, 257}, {64, 1, 3}, {2000, 8, 600}}));
}

TEST(SmallOperators, Sample) {
  check("sample", "f32",
        shapes_of({"m", "n", "ranks"}, {{40, 1024, 1}, {12, 96, 4}, {1, 1, 1}, {3, 7, 7}, {7, 30000, 2}}));
}

}  // namespace
}  // namespace wavetune::templates::test
