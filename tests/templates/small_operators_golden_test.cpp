// The small operators' formulas at values that can be worked out by hand, references and kernels alike.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "operator_harness.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Golden {
  const char* name;
  Problem problem;
  Scalars scalars;
  std::vector<std::vector<double>> inputs;   ///< of operands that are read, in order
  std::vector<std::vector<double>> outputs;  ///< of operands that are written, in order
};

HostTensor tensor_of(const OperandSpec& spec, const std::vector<double>& values) {
  HostTensor tensor(spec.dtype, spec.count());
  EXPECT_EQ(static_cast<std::size_t>(spec.count()), values.size()) << spec.name;
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<std::int64_t>(i), values[i]);
  return tensor;
}

const double third = std::log(3.0);  // sigmoid(log 3) = 3/4, sigmoid(-log 3) = 1/4
const double sine = std::sin(1.0), cosine = std::cos(1.0);

std::vector<Golden> goldens() {
  return {
      // Biased scores 0.5, 0.75, 0.85, 0.5: expert 0 wins the tie with 3; weights are unbiased, sum 1.5, scaled by 2.5.
      {"router",
       {"router", "f32", {{"m", 1}, {"experts", 4}, {"topk", 3}, {"shared", 1}}},
       {{"norm", 1.0}, {"scale", 2.5}},
       {{0.0, third, -third, 0.0}, {0.0, 0.0, 0.6, 0.0}},
       {{2, 1, 0, 4}, {0.25 / 1.5 * 2.5, 0.75 / 1.5 * 2.5, 0.5 / 1.5 * 2.5, 1.0}}},
      {"router_without_norm",
       {"router", "f32", {{"m", 1}, {"experts", 2}, {"topk", 1}, {"shared", 0}}},
       {{"norm", 0.0}, {"scale", 2.0}},
       {{-third, 0.0}, {0.5, 0.0}},
       {{0}, {0.5}}},
      // Position 0 leaves everything; position 1 turns the first pair by 1 and the second by theta^(-1/2) = 0.01.
      {"rope",
       {"rope", "f32", {{"m", 2}, {"heads", 1}, {"n", 4}}},
       {{"theta", 1e4}},
       {{1, 2, 3, 4, 1, 0, 0, 1}, {0, 1}},
       {{1, 2, 3, 4, cosine, sine, -std::sin(0.01), std::cos(0.01)}}},
      // Four of positions 0 to 5: 7 at 1, then of the four 3s (0, 2, 4, 5) the first three. Page 1 of size 4 is
      // physical page 0.
      {"topk_ties",
       {"topk_select", "f32", {{"m", 2}, {"context", 8}, {"topk", 4}, {"sequences", 1}, {"pages", 2}, {"page", 4}}},
       {},
       {{3, 7, 3, -1, 3, 3, 9, 9, 0, -1, -2, infinity, infinity, infinity, infinity, infinity}, {5, 2}, {0, 0}, {2, 0}},
       {{8, 9, 10, 0, 8, 9, 10, -1}}},
      // Both zeros are the same score.
      {"topk_zeros",
       {"topk_select", "f32", {{"m", 1}, {"context", 4}, {"topk", 2}, {"sequences", 1}, {"pages", 1}, {"page", 4}}},
       {},
       {{-0.0, 0.0, 0.0, -5}, {3}, {0}, {0}},
       {{0, 1}}},
      {"moe_sort",
       {"moe_sort", "i32", {{"m", 3}, {"topk", 2}, {"experts", 4}}},
       {},
       {{2, 0, 3, 2, 0, 2}},
       {{1, 4, 0, 3, 5, 2}, {0, 2, 2, 5, 6}}},
      {"moe_sort_keeps_ids_inside",
       {"moe_sort", "i32", {{"m", 2}, {"topk", 1}, {"experts", 2}}},
       {},
       {{7, -3}},
       {{1, 0}, {0, 1, 2}}},
      {"moe_combine",
       {"moe_combine", "f32", {{"m", 1}, {"topk", 2}, {"n", 2}}},
       {},
       {{1, 2, 10, 20}, {0.5, 2.0}},
       {{20.5, 41.0}}},
      {"silu_mul",
       {"silu_mul", "f32", {{"m", 1}, {"n", 2}}},
       {},
       {{0.0, third, 5.0, 4.0}},
       {{0.0, third * 0.75 * 4.0}}},
      {"rmsnorm_residual",
       {"rmsnorm", "f32", {{"m", 1}, {"n", 2}, {"residual", 1}}},
       {{"eps", 0.5}},
       {{1.0, 1.0}, {2.0, 3.0}, {1.0, 10.0}},
       {{3.0, 4.0}, {3.0 / std::sqrt(13.0), 40.0 / std::sqrt(13.0)}}},
      {"layernorm",
       {"layernorm", "f32", {{"m", 1}, {"n", 2}, {"residual", 0}}},
       {{"eps", 0.0}},
       {{1001.0, 1003.0}, {2.0, 3.0}, {0.25, 0.5}},
       {{-1.75, 3.5}}},
      // The second head's product is negative: no part of the score, though its weight is negative too.
      {"indexer_scores",
       {"indexer_scores",
        "f32",
        {{"m", 1}, {"heads", 2}, {"n", 2}, {"context", 3}, {"slots", 4}, {"sequences", 1}, {"pages", 2}, {"page", 2}}},
       {{"scale", 0.5}},
       {{1, 2, -1, 0}, {3, -4}, {7, 7, 7, 7, 1, 1, -3, 1}, {1}, {0}, {1, 0}},
       {{0.5 * 3 * 3, 0.5 * -4 * 3, -infinity}}},
      {"cache_write",
       {"cache_write", "f32", {{"m", 3}, {"n", 1}, {"slots", 2}}},
       {},
       {{5, 6, 7}, {-1, 0, 2}, {1, 2}},
       {{6, 2}}},
      {"embedding", {"embedding", "f32", {{"m", 3}, {"n", 1}, {"rows", 2}}}, {}, {{1, 2, -1}, {8, 9}}, {{9, 0, 0}}},
      {"all_reduce",
       {"all_reduce", "f32", {{"m", 1}, {"n", 2}, {"ranks", 3}}},
       {},
       {{1, 2}, {10, 20}, {100, 200}},
       {{111, 222}}},
  };
}

class SmallOperatorGolden : public testing::TestWithParam<Golden> {};

TEST_P(SmallOperatorGolden, ReferenceAndKernelsGiveTheseValues) {
  const Golden& golden = GetParam();
  const Operator& op = get_operator(golden.problem.op);
  TestData data;
  data.scalars = golden.scalars;
  std::size_t input = 0, output = 0;
  for (const OperandSpec& spec : op.operands(golden.problem)) {
    const bool read = spec.role != Role::output, written = spec.role != Role::input;
    data.tensors.push_back(read ? tensor_of(spec, golden.inputs.at(input++)) : HostTensor(spec.dtype, spec.count()));
    data.expected.push_back(written ? tensor_of(spec, golden.outputs.at(output++)) : data.tensors.back());
  }
  ASSERT_EQ(input, golden.inputs.size());
  ASSERT_EQ(output, golden.outputs.size());

  std::vector<HostTensor> reference = data.tensors;
  op.reference(golden.problem, golden.scalars, reference);
  const Comparison comparison = op.compare(golden.problem, reference, data.expected);
  EXPECT_TRUE(comparison.passes()) << "reference: " << comparison.message;
  for (const DeviceLimits& limits : {device_limits(), gpu_limits()}) {
    const Config config = op.default_config(golden.problem, limits);
    const RunResult run = run_operator(op, golden.problem, config, Layout::dense, data);
    EXPECT_TRUE(run.comparison.passes()) << db::to_text(config) << ": " << run.comparison.message;
    EXPECT_EQ(run.damage, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Values, SmallOperatorGolden, testing::ValuesIn(goldens()),
                         [](const auto& suite) { return std::string(suite.param.name); });

struct BadShape {
  const char* op;
  const char* dtype;
  db::NamedInts dims;
  const char* says;
};

TEST(SmallOperators, RefuseShapesThatDoNotExist) {
  const BadShape shapes[] = {
      {"embedding", "f32", {{"m", 1}, {"n", 1}}, "needs the dimension 'rows'"},
      {"embedding", "i32", {{"m", 1}, {"n", 1}, {"rows", 1}}, "no kernel for dtype 'i32'"},
      {"silu_mul", "f32", {{"m", 0}, {"n", 1}}, "m=0 is out of range"},
      {"silu_mul", "f32", {{"m", 1}, {"n", 1}, {"k", 1}}, "no dimension 'k'"},
      {"rope", "f32", {{"m", 1}, {"heads", 1}, {"n", 3}}, "must be even"},
      {"router", "f32", {{"m", 1}, {"experts", 2}, {"topk", 3}, {"shared", 0}}, "topk=3 is more than experts=2"},
      {"sample", "f32", {{"m", 1}, {"n", 10}, {"ranks", 3}}, "ranks=3 does not divide n=10"},
      {"topk_select",
       "f32",
       {{"m", 1}, {"context", 9}, {"topk", 1}, {"sequences", 1}, {"pages", 2}, {"page", 4}},
       "less than context=9"},
      {"all_reduce", "f32", {{"m", 1}, {"n", 1}, {"ranks", 9}}, "ranks=9 is out of range"},
  };
  for (const BadShape& shape : shapes) {
    try {
      get_operator(shape.op).check({shape.op, shape.dtype, shape.dims});
      ADD_FAILURE() << shape.op << " accepts " << db::to_text(shape.dims);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(shape.says), std::string::npos) << error.what();
    }
  }
}

/// One row over tokens with probabilities 1/2, 1/4, 1/8, 1/8.
struct Draw {
  double temperature, top_p, uniform;
  int token;
};

TEST(Sample, DrawsAtTheBoundariesOfIntervals) {
  const Draw draws[] = {{0.0, 1.0, 0.99, 0},
                        {1.0, 1.0, 0.0, 0},
                        {1.0, 1.0, 0.499, 0},
                        {1.0, 1.0, 0.501, 1},
                        {1.0, 1.0, 0.749, 1},
                        {1.0, 1.0, 0.751, 2},
                        {1.0, 1.0, 0.874, 2},
                        {1.0, 1.0, 0.876, 3},
                        {1.0, 1.0, 0.99999, 3},
                        {1.0, 0.4, 0.999, 0},
                        {1.0, 0.0, 0.999, 0},
                        {1.0, 0.6, 0.66, 0},
                        {1.0, 0.6, 0.67, 1},
                        {1.0, 0.6, 0.9999, 1},
                        // Of the two tokens with 1/8, the lower id is kept: 4/7, 2/7, 1/7.
                        {1.0, 0.8, 0.571, 0},
                        {1.0, 0.8, 0.572, 1},
                        {1.0, 0.8, 0.856, 1},
                        {1.0, 0.8, 0.9999, 2},
                        // Temperature 1/2 squares the odds: 16/22, 4/22, 1/22, 1/22.
                        {0.5, 1.0, 0.727, 0},
                        {0.5, 1.0, 0.728, 1},
                        {0.5, 1.0, 0.9545, 2},
                        {0.5, 1.0, 0.9546, 3},
                        {1e-30, 0.9, 0.99, 0}};
  const auto rows = static_cast<std::int64_t>(std::size(draws));
  for (const std::int64_t ranks : {1, 2}) {
    const Problem problem{"sample", "f32", {{"m", rows}, {"n", 4}, {"ranks", ranks}}};
    const Operator& op = get_operator("sample");
    TestData data;
    for (const OperandSpec& spec : op.operands(problem)) data.tensors.emplace_back(spec.dtype, spec.count());
    const double logits[] = {-1.0, -2.0, -3.0, -3.0};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t id = 0; id < 4; ++id) {
        const std::int64_t shard = 4 / ranks;
        data.tensors[0].set((id / shard * rows + row) * shard + id % shard, logits[id] * std::log(2.0));
      }
      data.tensors[1].set(row, draws[row].temperature);
      data.tensors[2].set(row, draws[row].top_p);
      data.tensors[3].set(row, draws[row].uniform);
    }
    data.expected = data.tensors;
    for (std::int64_t row = 0; row < rows; ++row) data.expected[4].set(row, draws[row].token);
    std::vector<HostTensor> reference = data.tensors;
    op.reference(problem, {}, reference);
    for (std::int64_t row = 0; row < rows; ++row) EXPECT_EQ(reference[4].at(row), draws[row].token) << "row " << row;
    for (const Config& config : {Config{{"threads", 1}}, Config{{"threads", 64}}, Config{{"threads", 256}}}) {
      const RunResult run = run_operator(op, problem, config, Layout::misaligned, data);
      EXPECT_TRUE(run.comparison.passes()) << db::to_text(config) << ": " << run.comparison.message;
    }
  }
}

TEST(Sample, CompareAcceptsNeighboursOnlyNextToABoundary) {
  const Operator& op = get_operator("sample");
  const Problem problem{"sample", "f32", {{"m", 1}, {"n", 2}, {"ranks", 1}}};
  const auto with = [&](double temperature, double uniform, double token) {
    std::vector<HostTensor> tensors;
    for (const OperandSpec& spec : op.operands(problem)) tensors.emplace_back(spec.dtype, spec.count());
    tensors[1].set(0, temperature);
    tensors[2].set(0, 1.0);
    tensors[3].set(0, uniform);
    tensors[4].set(0, token);
    return tensors;
  };
  EXPECT_TRUE(op.compare(problem, with(1.0, 0.50005, 0), with(1.0, 0.50005, 1)).passes());
  EXPECT_FALSE(op.compare(problem, with(1.0, 0.5005, 0), with(1.0, 0.5005, 1)).passes());
  EXPECT_FALSE(op.compare(problem, with(0.0, 0.5, 1), with(0.0, 0.5, 0)).passes());
  EXPECT_FALSE(op.compare(problem, with(1.0, 0.5, 2), with(1.0, 0.5, 0)).passes());
}

}  // namespace
}  // namespace wavetune::templates::test
