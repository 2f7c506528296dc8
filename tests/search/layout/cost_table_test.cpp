#include "search/layout/cost_table.h"

#include <gtest/gtest.h>

#include "search/driver/roofline.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

const measure::DevicePeak peak{1000, {{"f32", 1e5}, {"bf16", 1e6}}};

db::Problem gemm(std::int64_t m, std::int64_t n = 64, std::string dtype = "bf16") {
  return {"gemm", std::move(dtype), {{"batch", 1}, {"k", 128}, {"m", m}, {"n", n}}};
}
db::Problem scores(std::int64_t m, std::int64_t context) {
  return {"indexer_scores",
          "bf16",
          {{"context", context},
           {"heads", 4},
           {"m", m},
           {"n", 32},
           {"page", 16},
           {"pages", 64},
           {"sequences", 8},
           {"slots", 1024}}};
}
db::Winner winner(db::Problem problem, double us) {
  db::Winner winner;
  winner.problem = std::move(problem);
  winner.median_us = us;
  return winner;
}
double roofline(const db::Problem& problem) {
  return roofline_us(templates::get_operator(problem.op).cost(problem), peak, problem.dtype);
}

TEST(CostTable, BetweenTwoKnownRowsTheTimeIsAStraightLine) {
  const CostTable costs({winner(gemm(16), 10), winner(gemm(64), 22)}, peak);
  struct Case {
    std::int64_t m;
    double us;
    CostSource source;
  };
  for (const Case& c :
       {Case{16, 10, CostSource::measured}, Case{40, 16, CostSource::measured}, Case{64, 22, CostSource::measured},
        Case{1, 10, CostSource::measured}, Case{72, 24, CostSource::estimated}}) {
    const ProblemCost cost = costs.cost(gemm(c.m));
    EXPECT_DOUBLE_EQ(cost.us, c.us) << c.m;
    EXPECT_EQ(cost.source, c.source) << c.m;
  }
}

TEST(CostTable, AnotherContextIsScaledByTheRooflineAndIsAnEstimate) {
  const CostTable costs({winner(scores(4, 256), 10), winner(scores(4, 1024), 30)}, peak);
  EXPECT_EQ(costs.cost(scores(4, 256)).source, CostSource::measured);
  const ProblemCost near = costs.cost(scores(4, 320));
  EXPECT_EQ(near.source, CostSource::estimated);
  EXPECT_DOUBLE_EQ(near.us, 10 * roofline(scores(4, 320)) / roofline(scores(4, 256)));
}

TEST(CostTable, OursGoBeforePublishedAndPublishedBeforeDerivedAndKnownBeforeExtrapolated) {
  const std::vector<ReferenceTime> references = {{gemm(16), 5, CostSource::published},
                                                 {gemm(128), 50, CostSource::published},
                                                 {gemm(512), 70, CostSource::estimated}};
  const CostTable costs({winner(gemm(16), 10), winner(gemm(32), 20)}, peak, references);
  EXPECT_EQ(costs.cost(gemm(16)).us, 10);
  EXPECT_EQ(costs.cost(gemm(128)).us, 50) << "beyond what we measured, but not beyond what is published";
  EXPECT_EQ(costs.cost(gemm(128)).source, CostSource::published);
  EXPECT_EQ(costs.cost(gemm(512)).us, 70);
  EXPECT_EQ(costs.cost(gemm(512)).source, CostSource::estimated);
  EXPECT_DOUBLE_EQ(costs.cost(gemm(1024)).us, 20 + (1024 - 32) * 10.0 / 16) << "our own last slope";
}

TEST(CostTable, NothingIsEstimatedBelowTheShortestPublishedLaunch) {
  const std::vector<ReferenceTime> references = {{gemm(1, 4096), 3, CostSource::published},
                                                 {gemm(64, 4096), 2.5, CostSource::published}};
  const CostTable costs({}, peak, references);
  EXPECT_EQ(costs.shortest_launch_us(), 2.5);
  EXPECT_EQ(costs.cost({"rmsnorm", "bf16", {{"m", 1}, {"n", 64}, {"residual", 0}}}).us, 2.5);
}

TEST(CostTable, ProductsThatNobodyMeasuredTakeTheAnalyticModelsTime) {
  const std::vector<ReferenceTime> references = {{gemm(1, 4096), 0.001, CostSource::published}};
  const CostTable with_model({}, peak, references, "gfx950"), without({}, peak, references, "unknown");
  const db::Problem wide{"gemm", "bf16", {{"batch", 1}, {"k", 6144}, {"m", 4096}, {"n", 4096}}};
  EXPECT_EQ(with_model.cost(wide).source, CostSource::estimated);
  EXPECT_GT(with_model.cost(wide).us, 2.0 * 4096 * 4096 * 6144 / 4.2e9) << "faster than the chip's peak";
  EXPECT_DOUBLE_EQ(without.cost(wide).us, roofline(wide));
}

}  // namespace
}  // namespace wavetune::search
