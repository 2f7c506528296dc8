// The score, held against tests/golden/make_replay_scores.py, which works it out in other ways.
#include "search/replay/score.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "search/replay/traces_file.h"
#include "tests/search/replay/recordings.h"

namespace wavetune::replay {
namespace {

using nlohmann::json;

class Score : public testing::Test {
 protected:
  Score() {
    rule_.points = golden_.at("points");
    spaces_.push_back(scored_space(small_recording(), rule_));
  }

  json golden_ = json::parse(read_file(golden("small_scores.json")));
  ScoreRule rule_;
  std::vector<ScoredSpace> spaces_;
};

TEST_F(Score, BudgetAndRandomSearch) {
  const SpaceStatistics& space = spaces_[0].statistics;
  EXPECT_EQ(space.optimum_ms, golden_.at("optimum_ms"));
  EXPECT_DOUBLE_EQ(space.median_ms, golden_.at("median_ms"));
  EXPECT_NEAR(space.mean_cost_s, golden_.at("mean_cost_s"), 1e-12);
  EXPECT_EQ(space.start_evaluations, golden_.at("start_evaluations"));
  EXPECT_EQ(space.evaluations, golden_.at("evaluations"));
  const auto& expected = golden_.at("expected_minimum_ms");
  ASSERT_EQ(expected.size(), space.size + 1);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_NEAR(random_search_ms(space, k), expected[k], 1e-12) << k;
  }
  const auto& curve = golden_.at("random_curve_ms");
  const auto& published = golden_.at("published_random_curve_ms");
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_NEAR(spaces_[0].random_ms[50 * i], curve[i], 1e-12) << i;
    EXPECT_NEAR(spaces_[0].published_random_ms[50 * i], published[i], 1e-9) << i;
  }
}

TEST_F(Score, OfTraces) {
  const TracesFile traces = read_traces(golden("small_traces.csv"), spaces_);
  ASSERT_EQ(traces.series.size(), 2U);
  for (const Series& series : traces.series) {
    const json& expected = golden_.at("strategies").at(series.strategy);
    ASSERT_EQ(series.traces.size(), expected.at("value").size());
    double mean = 0;
    for (std::size_t i = 0; i < series.traces.size(); ++i) {
      const auto curve = curve_of(series.traces[i], spaces_[0].statistics, spaces_[0].times_s);
      const double score = score_of_curve(curve, spaces_[0].random_ms, spaces_[0].statistics);
      EXPECT_NEAR(score, expected.at("value")[i], 1e-9) << series.strategy << i;
      mean += score / static_cast<double>(series.traces.size());
    }
    const std::vector<Row> by_value = standings(spaces_, {series}, ScoreBy::value, 1);
    EXPECT_NEAR(by_value.at(0).cells.at(0)->by_value.value, mean, 1e-12);
    EXPECT_NEAR(by_value.at(0).mean_by_value->value, mean, 1e-12);
    const double rank = expected.at("rank");
    EXPECT_NEAR(by_value.at(0).cells.at(0)->by_rank.value, rank, 1e-6 * std::abs(rank)) << series.strategy;
  }
}

TEST_F(Score, IntervalsHoldTheScoreAndRepeat) {
  const TracesFile traces = read_traces(golden("small_traces.csv"), spaces_);
  const Estimate score = standings(spaces_, traces.series, ScoreBy::value, 2).at(0).cells.at(0)->by_value;
  EXPECT_LT(score.low(), score.value);
  EXPECT_GT(score.high(), score.value);
  const Estimate again = standings(spaces_, traces.series, ScoreBy::value, 1).at(0).cells.at(0)->by_value;
  EXPECT_EQ(score.resampled, again.resampled);
}

TEST(ScoreByHand, FourConfigurations) {
  // 1, 2, 4 and 8 ms; a trial costs 1 s. The median is 3, the target 1.1: all but the best are above it, 3 / (5 - 3)
  // evaluations, rounded up.
  db::T4File file = t4_grid(2);
  for (std::size_t i = 0; i < 4; ++i) {
    file.results[i].times.compilation_ms = 1000 - (1 << i);
    file.results[i].times.runtimes_ms = {static_cast<double>(1 << i)};
  }
  const Recording recording = make_recording(templates::parse_t1(t1_text(2), "t1"), file, "hand", Coverage::complete);
  ScoreRule rule;
  rule.points = 3;
  const ScoredSpace space = scored_space(recording, rule);
  EXPECT_EQ(space.statistics.evaluations, 2);
  EXPECT_EQ(space.statistics.start_evaluations, 1);  // 2 of 4 are above 2.98: 2 / (5 - 2)
  EXPECT_THAT(space.times_s, testing::ElementsAre(1, 1.5, 2));
  // One draw: 15 / 4. Two: the best is in half of the pairs, the second in a third, the third in a sixth.
  EXPECT_DOUBLE_EQ(space.random_ms[0], 3.75);
  EXPECT_DOUBLE_EQ(space.random_ms[1], 3.75);
  EXPECT_DOUBLE_EQ(space.random_ms[2], 0.5 * 1 + 2.0 / 6 * 2 + 1.0 / 6 * 4);
  const Trace trace = {{1.2, std::nullopt}, {1.5, 2.0}, {1.9, 1.0}};
  const std::vector<double> curve = curve_of(trace, space.statistics, space.times_s);
  EXPECT_THAT(curve, testing::ElementsAre(3, 2, 1));
  EXPECT_DOUBLE_EQ(score_of_curve(curve, space.random_ms, space.statistics), (0.75 / 2.75 + 1.75 / 2.75 + 1) / 3);
  EXPECT_EQ(time_to_within(trace, space.statistics, 0.05), 1.9);
  EXPECT_EQ(time_to_within({}, space.statistics, 0.05), INFINITY);
}

TEST(ScoreByHand, ASpaceWithoutAChoiceIsRefused) {
  db::T4File file = t4_grid(2);
  for (db::T4Result& result : file.results) result.times.runtimes_ms = {1};
  const auto recording = make_recording(templates::parse_t1(t1_text(2), "t1"), file, "flat", Coverage::complete);
  EXPECT_THAT(error_of([&] { statistics_of(recording); }).what(), testing::HasSubstr("flat: 4 valid results in 4"));
}

}  // namespace
}  // namespace wavetune::replay
