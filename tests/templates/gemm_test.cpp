// gemm on ragged shapes, in all its paths.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <span>

#include "operator_harness.h"
#include "templates/gemm/product.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

/// Dimensions that no tile divides, single rows, vectors' worth of k and one more.
std::vector<db::NamedInts> shapes() {
  const auto shape = [](std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    return db::NamedInts{{"batch", batch}, {"m", m}, {"n", n}, {"k", k}};
  };
  return {shape(1, 33, 96, 320), shape(3, 17, 70, 96), shape(1, 1, 100, 1025), shape(1, 100, 65, 33),
          shape(2, 3, 17, 16),   shape(1, 1, 1, 1),    shape(1, 70, 48, 7)};
}

/// One configuration of each path, with a split k: drawing might miss one.
std::vector<Config> each_path(DType type) {
  const std::int64_t run = type == DType::f32 ? 4 : 8;
  const auto config = [](std::int64_t path, std::int64_t bm, std::int64_t bn, std::int64_t bk, std::int64_t tm,
                         std::int64_t tn, std::int64_t vec, std::int64_t split_k) {
    return Config{{"path", path}, {"bm", bm},   {"bn", bn},           {"bk", bk},    {"tm", tm},
                  {"tn", tn},     {"vec", vec}, {"split_k", split_k}, {"group_m", 8}};
  };
  return {config(product_path::direct, 16, 32, 32, 2, 4, 8, 4), config(product_path::staged, 32, 64, 16, 4, 8, 4, 2),
          config(product_path::matrix, 32, 32, 64, 16, 32, run, 2),
          config(product_path::matrix_direct, 16, 64, 64, 16, 32, 8, 4),
          config(product_path::shared_k, 4, 16, 256, 2, 4, 8, 2)};
}

class Gemm : public testing::TestWithParam<const char*> {};

TEST_P(Gemm, MatchesReference) {
  const DType input = split_dtype(GetParam()).input;
  OperatorCase c{"gemm", GetParam(), shapes()};
  c.samples = 3;
  c.configs = each_path(input);
  c.shapes_per_layout = 2;
  check_operator(c);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Gemm, testing::Values("f32", "bf16", "bf16_f32"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(GemmSpace, HasHundredsOfPointsForServedShapes) {
  const Operator& op = get_operator("gemm");
  for (const DeviceLimits& limits : {device_limits(), gpu_limits()}) {
    for (const std::int64_t m : {1, 16, 256, 4096}) {
      const Problem problem{"gemm", "bf16", {{"batch", 1}, {"m", m}, {"n", 2624}, {"k", 6144}}};
      EXPECT_GE(op.space(problem, limits).enumerate().size(), 300u) << limits.arch << " m=" << m;
    }
  }
}

/// A product of fp8 rows as Hopper's matrix instructions add it up: of 32 products and the sum so far each is cut off
/// 13 bits behind the point of the largest. Every 128 go to a float.
double added_by_hopper(const std::vector<double>& products) {
  double total = 0;
  for (std::size_t group = 0; group < products.size(); group += 128) {
    double sum = 0;
    for (std::size_t first = group; first < group + 128; first += 32) {
      const std::span<const double> some(products.data() + first, 32);
      double largest = std::fabs(sum);
      for (const double product : some) largest = std::max(largest, std::fabs(product));
      if (largest == 0) continue;
      const double unit = std::ldexp(1.0, std::ilogb(largest) - 13);
      double units = std::trunc(sum / unit);
      for (const double product : some) units += std::trunc(product / unit);
      sum = units * unit;
    }
    total += sum;
  }
  return total;
}

// An H200 gave 0.30078125 for this output, the one that is furthest off, whatever the configuration.
TEST(GemmTolerance, AllowsWhatHoppersFp8Gives) {
  const Operator& op = get_operator("gemm");
  const Problem problem{"gemm", "fp8_token", {{"batch", 1}, {"m", 4096}, {"n", 6144}, {"k", 3072}}};
  std::vector<HostTensor> tensors;
  for (const OperandSpec& spec : op.operands(problem)) tensors.emplace_back(spec.dtype, spec.count());
  std::mt19937_64 random(1);
  op.fill(problem, random, tensors);
  constexpr std::int64_t row = 3543, column = 2674, k = 3072;
  std::vector<double> products;
  for (std::int64_t i = 0; i < k; ++i) products.push_back(tensors[0].at(row * k + i) * tensors[2].at(column * k + i));
  const double scale = tensors[1].at(row) * tensors[3].at(column);
  const double exact = std::accumulate(products.begin(), products.end(), 0.0) * scale;
  const double hopper = added_by_hopper(products) * scale;
  EXPECT_NEAR(hopper, 0.30078125, 0x1p-10) << "bf16 has steps of 2^-9 there";
  const Tolerance limit = op.tolerance(problem);
  EXPECT_GT(std::fabs(0.30078125 - exact), 7e-3);
  EXPECT_LE(std::fabs(0.30078125 - exact), limit.absolute + limit.relative * std::fabs(exact));
}

}  // namespace
}  // namespace wavetune::templates::test
