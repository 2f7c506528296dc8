// Test data: the same for a seed whoever fills it, and different for another.
#include "templates/fill.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>

#include "templates/gemm/product_reference.h"

namespace wavetune::templates {
namespace {

class Fill : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Fill, testing::Values(DType::f32, DType::bf16, DType::fp8, DType::fp4, DType::e8m0));

HostTensor filled(DType type, std::int64_t count, std::uint64_t seed, int threads) {
  HostTensor tensor(type, count);
  std::mt19937_64 random(seed);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    if (type == DType::e8m0) {
      fill_uniform(tensor, random, 0.25, 4.0);
    } else {
      fill_normal(tensor, random, 2.0);
    }
  });
  return tensor;
}

TEST_P(Fill, DoesNotDependOnThreads) {
  // Not a multiple of a block, and more than what is drawn.
  for (const std::int64_t count : {std::int64_t{34}, std::int64_t{100'002}, (std::int64_t{1} << 22) + 5'000}) {
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 4);
    const HostTensor alone = filled(GetParam(), count, 1, 1), together = filled(GetParam(), count, 1, 4);
    EXPECT_TRUE(std::ranges::equal(alone.bytes(), together.bytes())) << count;
    const HostTensor other = filled(GetParam(), count, 2, 4);
    EXPECT_FALSE(std::ranges::equal(alone.bytes(), other.bytes())) << count;
  }
}

TEST(FillNormal, HasTheSpreadAskedForAndOutliers) {
  const HostTensor tensor = filled(DType::f32, 1 << 20, 7, 2);
  double sum = 0, squares = 0, largest = 0;
  for (const float value : tensor.as<float>()) {
    sum += value;
    squares += static_cast<double>(value) * value;
    largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  const double count = 1 << 20;
  EXPECT_NEAR(sum / count, 0, 0.02);
  // 511 of 512 have variance 4, one 64 times as much.
  EXPECT_NEAR(squares / count, 4.0 * (511 + 64) / 512, 0.1);
  EXPECT_GT(largest, 20);
}

TEST(SpreadOver, TakesOneOfEachStretchAndBothEnds) {
  for (const std::int64_t count : {1, 2, 47, 48, 49, 4096, 100'001}) {
    const std::vector<std::int64_t> chosen = spread_over(count, 48);
    ASSERT_EQ(static_cast<std::int64_t>(chosen.size()), std::min<std::int64_t>(count, 48));
    EXPECT_EQ(chosen.front(), 0);
    EXPECT_EQ(chosen.back(), count - 1);
    for (std::size_t i = 1; i < chosen.size(); ++i) {
      EXPECT_GT(chosen[i], chosen[i - 1]) << count;
      EXPECT_LE(chosen[i] - chosen[i - 1], 2 * (count / 48 + 1)) << count;
    }
  }
}

}  // namespace
}  // namespace wavetune::templates
