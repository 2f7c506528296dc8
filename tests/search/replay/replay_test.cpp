// Strategies against recordings: the clock, the seeds, the threads, racing.
#include "search/replay/replay.h"

#include <gmock/gmock.h>

#include <set>

#include "search/replay/curves.h"
#include "search/replay/plot.h"
#include "tests/search/replay/recordings.h"

namespace wavetune::replay {
namespace {

using testing::HasSubstr;

bool same(const Trace& a, const Trace& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TracePoint& x, const TracePoint& y) {
    return x.time_s == y.time_s && x.best_ms == y.best_ms;
  });
}

TEST(Replay, TheClockRunsByTheRecordedCosts) {
  const Recording recording = grid_recording(20);
  ReplayOptions options;
  options.budget_s = 5;
  options.evaluations = 10;
  const ReplayRun run = replay_run(recording, "random", options);
  double before_s = 0;
  std::optional<double> best_ms;
  for (const TracePoint& point : run.trace) {
    const double runs_s = point.time_s - before_s - 0.1;
    const double value_ms = runs_s * 1000 / 32;  // as grid_recording makes them
    best_ms = best_ms ? std::min(*best_ms, value_ms) : value_ms;
    EXPECT_NEAR(point.best_ms.value(), *best_ms, 1e-9);
    EXPECT_LT(before_s, options.budget_s);
    before_s = point.time_s;
  }
  EXPECT_GE(before_s, options.budget_s);  // the one that passes the budget is the last
  EXPECT_EQ(run.proposal_us.size(), run.trace.size());
  EXPECT_EQ(run.device_runs, static_cast<std::int64_t>(32 * run.trace.size()));
}

TEST(Replay, ASpaceThatIsUsedUpEndsTheRun) {
  ReplayOptions options;
  options.budget_s = 1e9;
  const ReplayRun run = replay_run(small_recording(), "random", options);
  EXPECT_EQ(run.trace.size(), small_recording().trials.size());
  EXPECT_EQ(run.trace.back().best_ms, statistics_of(small_recording()).optimum_ms);
}

TEST(Replay, OneSeedIsOneRunAndTwoAreTwo) {
  const Recording recording = small_recording();
  for (const std::string_view strategy : search::strategy_names()) {
    if (strategy == "exhaustive") continue;  // has nothing to draw
    ReplayOptions options;
    options.budget_s = 4;
    options.evaluations = 8;
    options.seed = 1;
    const Trace one = replay_run(recording, strategy, options).trace;
    EXPECT_TRUE(same(one, replay_run(recording, strategy, options).trace)) << strategy;
    bool differs = false;
    for (options.seed = 2; options.seed < 5; ++options.seed) {
      differs = differs || !same(one, replay_run(recording, strategy, options).trace);
    }
    EXPECT_TRUE(differs) << strategy;
  }
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : {0, 1, 2}) {
    for (int repeat = 0; repeat < 100; ++repeat) seeds.insert(seed_of_repeat(seed, repeat));
  }
  EXPECT_EQ(seeds.size(), 300U);
}

TEST(Replay, ThreadsChangeNothing) {
  std::vector<ScoredSpace> spaces;
  spaces.push_back(scored_space(small_recording()));
  spaces.push_back(scored_space(grid_recording(30)));
  ContestOptions options;
  options.strategies = {"random", "annealing"};
  options.runs = {Runs::all, Runs::racing};
  options.repeats = 9;
  options.seed = 3;
  options.threads = 1;
  const std::vector<Series> one = run_contest(spaces, options);
  options.threads = 4;
  const std::vector<Series> four = run_contest(spaces, options);
  ASSERT_EQ(one.size(), 8U);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].strategy, four[i].strategy);
    ASSERT_EQ(one[i].traces.size(), 9U);
    for (std::size_t run = 0; run < 9; ++run) EXPECT_TRUE(same(one[i].traces[run], four[i].traces[run]));
  }
}

TEST(Replay, RandomSearchScoresNothing) {
  // Costs that are all alike, so that the calculated baseline's mean cost is everybody's.
  db::T4File file = t4_grid(100);
  for (db::T4Result& result : file.results) {
    result.times.compilation_ms = 200 - result.times.runtimes_ms[0];
    result.times.runtimes_ms.resize(1);
  }
  std::vector<ScoredSpace> spaces;
  spaces.push_back(
      scored_space(make_recording(templates::parse_t1(t1_text(100), "t1"), file, "even_T4.json", Coverage::complete)));
  ContestOptions options;
  options.strategies = {"random"};
  options.repeats = 3000;
  const Cell cell = standings(spaces, run_contest(spaces, options), ScoreBy::value, 0).at(0).cells.at(0).value();
  EXPECT_NEAR(cell.by_value.value, 0, 0.05);
  EXPECT_LT(cell.by_value.low(), cell.by_value.value);
}

TEST(Racing, ALosingConfigurationCostsTwoRuns) {
  RecordedTrial trial;
  trial.value_ms = 10;
  trial.overhead_s = 0.5;
  trial.runs_ms.assign(32, 10);
  trial.cost_s = 0.5 + 0.32;
  const SimulatedTrial all = try_configuration(trial, Runs::all, 1);
  EXPECT_EQ(all.runs, 32);
  EXPECT_EQ(all.cost_s, trial.cost_s);
  const SimulatedTrial lost = try_configuration(trial, Runs::racing, 4);
  EXPECT_EQ(lost.runs, 2);
  EXPECT_DOUBLE_EQ(lost.cost_s, 0.52);
  EXPECT_EQ(lost.measured_ms, 10);
  // A rival, or the first: until the median stands still, after three runs that warm up. One that is slower by a tenth
  // has lost as soon as that is sure.
  for (const double incumbent_ms : {0.0, 9.8})
    EXPECT_EQ(try_configuration(trial, Runs::racing, incumbent_ms).runs, 3 + racing_limits().min_samples);
  EXPECT_EQ(try_configuration(trial, Runs::racing, 9).runs, 3 + 3);
}

TEST(Racing, NoisyRunsAreAllTakenAndNoMore) {
  RecordedTrial trial;
  trial.value_ms = 15;
  for (int i = 0; i < 32; ++i) trial.runs_ms.push_back(i % 2 == 0 ? 10 : 20);
  const SimulatedTrial noisy = try_configuration(trial, Runs::racing, 0);
  EXPECT_EQ(noisy.runs, 32);
  EXPECT_DOUBLE_EQ(noisy.cost_s, 0.48);
  EXPECT_EQ(noisy.true_ms, 15);
  trial.value_ms.reset();
  trial.runs_ms.clear();
  trial.cost_s = 0.25;
  const SimulatedTrial failed = try_configuration(trial, Runs::racing, 1);
  EXPECT_EQ(failed.cost_s, 0.25);
  EXPECT_FALSE(failed.measured_ms);
}

TEST(Curves, AsATableAndAsAPicture) {
  std::vector<ScoredSpace> spaces;
  spaces.push_back(scored_space(small_recording()));
  spaces.push_back(scored_space(grid_recording(30)));
  spaces[1].recording.name = "a <space>, \"quoted\"";
  ContestOptions options;
  options.strategies = {"random", "annealing"};
  options.repeats = 5;
  const std::vector<Curve> curves = curves_of(spaces, run_contest(spaces, options));
  ASSERT_EQ(curves.size(), 4U);
  for (const Curve& curve : curves) {
    ASSERT_EQ(curve.mean_ms.size(), curve.times_s.size());
    EXPECT_LT(curve.mean_ms.back(), curve.mean_ms.front());
    for (std::size_t i = 0; i < curve.mean_ms.size(); ++i) EXPECT_LE(curve.low_ms[i], curve.high_ms[i]);
  }
  const std::string csv = curves_csv(spaces, curves);
  EXPECT_THAT(csv, testing::StartsWith("space,strategy,relative_time,time_s,mean_best_ms,"));
  EXPECT_THAT(csv, HasSubstr("\n\"a <space>, \"\"quoted\"\"\",annealing,1,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4 * 201);
  const std::string svg = curves_svg(spaces, curves);
  EXPECT_THAT(svg, HasSubstr("a &lt;space&gt;, &quot;quoted&quot;"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("nan")));
  const std::string page = curves_html(svg, "a < b");
  EXPECT_THAT(page,
              testing::AllOf(HasSubstr(svg), HasSubstr("a &lt; b"), testing::Not(HasSubstr("http://www.w3.org/1999"))));
}

}  // namespace
}  // namespace wavetune::replay
