#include "search/coverage/coverage_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "db/base/error.h"
#include "runtime/kernels/coverage.h"
#include "search/coverage/neighbour_check.h"
#include "templates/registry.h"

namespace wavetune::search {
namespace {

using kernels::Match;

const templates::DeviceLimits limits;
const measure::DevicePeak peak{.bytes_per_us = 1e4, .flops_per_us = {{"f32", 1e4}}};

db::Problem gemm(std::int64_t m, std::int64_t n = 8) {
  return {"gemm", "f32", {{"batch", 1}, {"k", 8}, {"m", m}, {"n", n}}};
}

/// A product over all tokens and one over the samples, with a sampler: steps of up to 16 tokens and 4 samples.
ServedModel tiny_model() {
  ServedModel served;
  model::Program& program = served.sizes.program;
  program.config.vocab_size = 32;
  const model::Extent tokens{1, model::Symbol::tokens}, samples{1, model::Symbol::samples};
  program.calls.push_back({"gemm", "a", "f32", {{"batch", {}}, {"k", {8}}, {"m", tokens}, {"n", {8}}}, {}, {}});
  program.calls.push_back({"gemm", "head", "f32", {{"batch", {}}, {"k", {8}}, {"m", samples}, {"n", {32}}}, {}, {}});
  served.sizes.executor.max_step_tokens = 16;
  served.sizes.executor.max_samples = 4;
  served.sizes.executor.max_context = 16;
  served.sizes.executor.pages = 4;
  return served;
}

db::Winner winner(const db::Problem& problem, double us) {
  return {problem, templates::get_operator(problem.op).default_config(problem, limits), us, {}, ""};
}

CoverageReport report_of(const std::vector<db::Winner>& winners, const std::vector<std::int64_t>& batches) {
  std::vector<CoveredStep> steps;
  for (const std::int64_t batch : batches)
    steps.push_back({fmt::format("batch {}", batch), {batch, std::min<std::int64_t>(batch, 4), 16, 64}});
  return cover(tiny_model(), steps, kernels::WinnerIndex(winners), CostTable(winners, peak), limits);
}

double share_of(const CoveredTime& time, Match match) {
  return time.by_match[static_cast<std::size_t>(match)] / time.us;
}

TEST(Coverage, EachCallOfAStepIsCountedAsItIsMatched) {
  const std::vector<db::Winner> winners{winner(gemm(2), 10), winner(gemm(4), 20), winner(gemm(2, 32), 30)};
  const CoverageReport report = report_of(winners, {2, 3});
  ASSERT_EQ(report.steps.size(), 2u);
  const CoveredTime& two = report.steps[0];
  const CoveredTime& three = report.steps[1];
  // Two products of 10 and 30 us that are tuned; the sampler is not.
  EXPECT_NEAR(two.by_match[static_cast<std::size_t>(Match::exact)], 40, 1e-9);
  EXPECT_NEAR(two.measured_us, 40, 1e-9);
  EXPECT_GT(share_of(two, Match::fallback), 0);
  // m = 3 runs with the kernel of 4: tuned for the first product, for the second only at 2.
  EXPECT_GT(share_of(three, Match::bucket), 0);
  EXPECT_GT(share_of(three, Match::nearest), 0);
  EXPECT_EQ(share_of(three, Match::exact), 0);
  EXPECT_NEAR(three.measured_us, 15, 1e-9) << "between two that were measured";
}

TEST(Coverage, SharesAddUpInEveryTable) {
  const std::vector<db::Winner> winners{winner(gemm(2), 10), winner(gemm(4), 20), winner(gemm(2, 32), 30)};
  const CoverageReport report = report_of(winners, {1, 2, 3});
  double by_shape = 0, by_family = 0, untuned = 0;
  std::int64_t shapes = 0;
  for (const CoveredShape& shape : report.shapes) by_shape += shape.share;
  for (const FamilyTime& family : report.families) {
    by_family += std::accumulate(family.share.begin(), family.share.end(), 0.0);
    shapes += std::accumulate(family.shapes.begin(), family.shapes.end(), std::int64_t{0});
  }
  for (const CoveredTime& time : report.steps) {
    EXPECT_NEAR(std::accumulate(time.by_match.begin(), time.by_match.end(), 0.0), time.us, 1e-9);
    untuned += (share_of(time, Match::nearest) + share_of(time, Match::fallback)) / 3;
  }
  EXPECT_NEAR(by_shape, 1, 1e-9);
  EXPECT_NEAR(by_family, 1, 1e-9);
  EXPECT_NEAR(report.untuned_share(), untuned, 1e-9);
  EXPECT_EQ(shapes, static_cast<std::int64_t>(report.shapes.size()));
  const ByMatch<std::int64_t> counts = report.counts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), shapes);
  const nlohmann::json json = coverage_json(report);
  EXPECT_EQ(json["counts"]["bucket"], counts[static_cast<std::size_t>(Match::bucket)]);
  EXPECT_EQ(json["shapes"].size(), report.shapes.size());
}

TEST(Coverage, TheTextNamesTheUntunedShapesThatTakeMostTime) {
  const std::vector<db::Winner> winners{winner(gemm(2), 10)};
  const std::string text = coverage_text(report_of(winners, {1}), 1);
  EXPECT_NE(text.find("batch 1"), std::string::npos) << text;
  EXPECT_NE(text.find("gemm/f32"), std::string::npos) << text;
  const CoverageReport report = report_of(winners, {1});
  EXPECT_NE(text.find(report.shapes.front().problem.key()), std::string::npos) << text;
  EXPECT_EQ(text.find(report.shapes.back().problem.key()), std::string::npos) << "only one is asked for";
}

TEST(Coverage, ShapesToVerifyAreThoseOfTheNearestWinnerByTime) {
  const std::vector<db::Winner> winners{winner(gemm(2), 10), winner(gemm(2, 32), 30)};
  const CoverageReport report = report_of(winners, {3, 16});
  const std::vector<db::Problem> all = nearest_lookups(report, 100);
  for (const db::Problem& problem : all) {
    EXPECT_EQ(problem.op, "gemm") << "the sampler has no winner at all";
    EXPECT_NE(problem.dim("m"), 2);
  }
  // a: 1, 4, 8, 16; head: 1, 4.
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(nearest_lookups(report, 2), std::vector<db::Problem>(all.begin(), all.begin() + 2));
}

NeighbourCheck check(std::vector<double> times, double default_us = 0) {
  NeighbourCheck made{gemm(8), {}, {"", {}, default_us}};
  for (const double us : times) made.neighbours.push_back({gemm(4).key(), {}, us});
  return made;
}

TEST(NeighbourChecks, AreSummarisedOverShapesWithAChoice) {
  const std::vector<NeighbourCheck> checks{check({10, 12}, 9), check({20, 10}, 30), check({10.05, 10, 11}),
                                           check({5}, 1),      check({0, 4}),       check({3, 0})};
  EXPECT_EQ(checks[1].ratio(), 2);
  EXPECT_EQ(checks[4].ratio(), 0) << "what serving takes did not run right";
  const NeighbourSummary summary = summarise(checks);
  EXPECT_EQ(summary.shapes, 3);
  EXPECT_EQ(summary.best_picked, 1);
  EXPECT_EQ(summary.nearly_picked, 2);
  EXPECT_EQ(summary.faster_default, 1);
  EXPECT_NEAR(summary.mean_loss, std::cbrt(2 * 1.005), 1e-9);
  EXPECT_EQ(summarise({}).mean_loss, 1);
}

TEST(ServedDegrees, AreTpTimesDp) {
  EXPECT_EQ(parse_degrees("8x1"), std::pair(8, 1));
  EXPECT_EQ(parse_degrees("12x34"), std::pair(12, 34));
  for (const char* wrong : {"", "8", "x", "8x", "x1", "0x1", "8x0", "8x1x", "-8x1", "8 x1", "axb", "99999999999x1"})
    EXPECT_THROW(parse_degrees(wrong), Error) << wrong;
}

}  // namespace
}  // namespace wavetune::search
