// What holds for every operator of the registry, and the operators' common functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "db/base/error.h"
#include "operator_harness.h"
#include "templates/embedded.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

TEST(Registry, ListsEveryOperatorOnceInAlphabeticalOrder) {
  std::vector<std::string_view> names;
  for (const Operator* op : all_operators()) names.push_back(op->name());
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(names, (std::vector<std::string_view>{"all_reduce", "cache_write", "embedding", "gemm", "grouped_gemm",
                                                  "indexer_scores", "layernorm", "mla_attention", "moe_combine",
                                                  "moe_sort", "quantize", "rmsnorm", "rope", "router", "sample",
                                                  "silu_mul", "topk_select"}));
}

TEST(Registry, FindsByName) {
  EXPECT_EQ(get_operator("gemm").name(), "gemm");
  EXPECT_EQ(find_operator("gem"), nullptr);
  try {
    get_operator("gem");
    FAIL() << "an unknown operator was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("grouped_gemm"), std::string::npos) << error.what();
  }
}

TEST(SourceHash, DiffersBetweenOperatorsAndIsStable) {
  std::set<std::string> hashes;
  for (const Operator* op : all_operators()) {
    EXPECT_EQ(source_hash(*op), source_hash(*op));
    EXPECT_TRUE(hashes.insert(source_hash(*op)).second) << op->name();
  }
}

TEST(KernelSource, HoldsConstantsBeforeTheFilesWithTheirNames) {
  const Operator& op = get_operator("gemm");
  const Problem problem{"gemm", "bf16_f32", {{"batch", 1}, {"m", 3}, {"n", 100}, {"k", 64}}};
  const std::string source = kernel_source(op, problem, op.default_config(problem, mi355x_limits()));
  const std::size_t dtype = source.find("constexpr int format_x = 16;\n"),
                    output = source.find("constexpr int out_dtype = 0;\n");
  const std::size_t file = source.find("#line 1 \"templates/gemm/matrix_gemm.hip\"\n");
  ASSERT_NE(dtype, std::string::npos);
  ASSERT_NE(output, std::string::npos);
  ASSERT_NE(file, std::string::npos);
  EXPECT_LT(dtype, file);
  EXPECT_LT(output, file);
}

TEST(SplitDtype, TakesOneOrTwoTypes) {
  EXPECT_EQ(split_dtype("bf16").output, DType::bf16);
  EXPECT_EQ(split_dtype("bf16_f32").input, DType::bf16);
  EXPECT_EQ(split_dtype("bf16_f32").output, DType::f32);
  EXPECT_THROW(split_dtype("bf17"), Error);
  EXPECT_THROW(split_dtype("bf16_"), Error);
}

/// Compares one output of gemm at m = n = 2.
Comparison compare(const std::vector<double>& got, const std::vector<double>& expected) {
  const Operator& op = get_operator("gemm");
  const Problem problem{"gemm", "f32", {{"batch", 1}, {"m", 2}, {"n", 2}, {"k", 1}}};
  std::vector<HostTensor> a, b;
  for (const OperandSpec& spec : op.operands(problem)) {
    a.emplace_back(spec.dtype, spec.count());
    b.emplace_back(spec.dtype, spec.count());
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    a[2].set(i, got[static_cast<std::size_t>(i)]);
    b[2].set(i, expected[static_cast<std::size_t>(i)]);
  }
  return op.compare(problem, a, b);
}

TEST(Compare, MeasuresInUnitsOfTheTolerance) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Tolerance limit = get_operator("gemm").tolerance({"gemm", "f32", {{"batch", 1}, {"m", 2}, {"n", 2}, {"k", 1}}});
  EXPECT_EQ(compare({1, 2, 3, 4}, {1, 2, 3, 4}).worst, 0);
  EXPECT_NEAR(compare({1, 2, 3, 4 + 0.5 * (limit.absolute + 4 * limit.relative)}, {1, 2, 3, 4}).worst, 0.5, 0.01);
  const Comparison wrong = compare({1, 2, 3.5, 4}, {1, 2, 3, 4});
  EXPECT_FALSE(wrong.passes());
  EXPECT_NE(wrong.message.find("c[0,1,0] is 3.5 instead of 3"), std::string::npos) << wrong.message;
  EXPECT_EQ(compare({1, std::nan(""), 3, 4}, {1, 2, 3, 4}).worst, infinite);
  EXPECT_EQ(compare({1, infinite, 3, 4}, {1, 2, 3, 4}).worst, infinite);
  EXPECT_EQ(compare({-infinite, 2, 3, 4}, {-infinite, 2, 3, 4}).worst, 0);
}

TEST(DenseViews, FollowTheShapes) {
  const std::vector<OperandSpec> specs{{"a", Role::input, DType::f32, 2, 3, 5}};
  int memory = 0;
  const std::vector<void*> buffers{&memory};
  const std::vector<View> views = dense_views(specs, buffers);
  EXPECT_EQ(views.at(0).row_stride, 5);
  EXPECT_EQ(views.at(0).batch_stride, 15);
  EXPECT_THROW(dense_views(specs, {}), Error);
}

}  // namespace
}  // namespace wavetune::templates::test
