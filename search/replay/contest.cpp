#include "search/replay/contest.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/measure/timing.h"

namespace wavetune::replay {
namespace {

// So many draws leave the percentiles of an interval uncertain by some hundredths of its width. The published score is
// a regression a draw, hence fewer.
constexpr int value_resamples = 2000;
constexpr int rank_resamples = 200;

void on_threads(int threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::optional<tbb::global_control> more_than_cores;
  if (threads > 0)
    more_than_cores.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, work); });
}

/// One run on its way into a series.
struct Job {
  std::size_t series;
  Runs runs;
  int repeat;
};

double median_of(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void summarise(Series& series, std::vector<ReplayRun> runs) {
  std::vector<double> evaluations;
  std::vector<float> proposals_us;
  double device_runs = 0;
  for (ReplayRun& run : runs) {
    evaluations.push_back(static_cast<double>(run.trace.size()));
    device_runs += static_cast<double>(run.device_runs);
    proposals_us.insert(proposals_us.end(), run.proposal_us.begin(), run.proposal_us.end());
    series.traces.push_back(std::move(run.trace));
  }
  const double all = std::accumulate(evaluations.begin(), evaluations.end(), 0.0);
  series.evaluations = measure::median(std::move(evaluations));
  series.device_runs = all > 0 ? device_runs / all : 0;
  series.proposal_us = median_of(std::move(proposals_us));
}

/// Different for every place in the table, so that the intervals of a row are independent.
std::uint64_t bootstrap_seed(std::size_t series) { return seed_of_repeat(0x5eed, static_cast<int>(series)); }

Cell cell_of(const ScoredSpace& space, const Series& series, ScoreBy by, std::uint64_t seed) {
  Cell cell;
  cell.repeats = series.traces.size();
  cell.evaluations = series.evaluations;
  cell.device_runs = series.device_runs;
  cell.proposal_us = series.proposal_us;
  std::vector<double> scores;
  std::vector<double> arrivals_s;
  for (const Trace& trace : series.traces) {
    // The score of a mean of curves is the mean of the curves' scores.
    scores.push_back(
        score_of_curve(curve_of(trace, space.statistics, space.times_s), space.random_ms, space.statistics));
    arrivals_s.push_back(time_to_within(trace, space.statistics, 0.05));
  }
  std::sort(arrivals_s.begin(), arrivals_s.end());
  cell.within_5_percent_s = arrivals_s[(arrivals_s.size() - 1) / 2];
  cell.by_value = estimate_mean(scores, by == ScoreBy::value ? value_resamples : 0, seed);
  const RankedTraces ranked(series.traces, space.statistics, space.times_s);
  cell.by_rank = estimate(series.traces.size(), by == ScoreBy::rank ? rank_resamples : 0, seed,
                          [&](const std::vector<double>& weights) {
                            return score_of_curve(ranked.curve(weights), space.published_random_ms, space.statistics);
                          });
  return cell;
}

void add_means(Row& row) {
  std::vector<Estimate> by_value;
  std::vector<Estimate> by_rank;
  for (const auto& cell : row.cells) {
    if (!cell) return;
    by_value.push_back(cell->by_value);
    by_rank.push_back(cell->by_rank);
  }
  row.mean_by_value = mean_of(by_value);
  row.mean_by_rank = mean_of(by_rank);
}

}  // namespace

ScoredSpace scored_space(Recording recording, const ScoreRule& rule) {
  ScoredSpace space;
  space.statistics = statistics_of(recording, rule);
  space.recording = std::move(recording);
  space.times_s = time_points(space.statistics, rule);
  space.random_ms = random_search_curve(space.statistics, space.times_s);
  space.published_random_ms = published_random_curve(space.statistics, space.times_s);
  return space;
}

std::string label_of(const std::string& strategy, Runs runs) {
  return runs == Runs::racing ? strategy + ", racing" : strategy;
}

std::vector<Series> run_contest(const std::vector<ScoredSpace>& spaces, const ContestOptions& options) {
  std::vector<Series> series;
  std::vector<std::string> strategies;  // by series
  std::vector<Job> jobs;
  for (std::size_t space = 0; space < spaces.size(); ++space) {
    for (const std::string& strategy : options.strategies) {
      for (const Runs runs : options.runs) {
        for (int repeat = 0; repeat < options.repeats; ++repeat) jobs.push_back({series.size(), runs, repeat});
        Series one;
        one.strategy = label_of(strategy, runs);
        one.space = space;
        series.push_back(std::move(one));
        strategies.push_back(strategy);
      }
    }
  }
  std::vector<ReplayRun> runs(jobs.size());
  on_threads(options.threads, jobs.size(), [&](std::size_t i) {
    const Job& job = jobs[i];
    const ScoredSpace& space = spaces[series[job.series].space];
    ReplayOptions one;
    one.budget_s = space.statistics.budget_s * options.duration;
    one.evaluations = std::max(1, static_cast<int>(space.statistics.evaluations * options.duration));
    one.runs = job.runs;
    one.seed = seed_of_repeat(options.seed, job.repeat);
    runs[i] = replay_run(space.recording, strategies[job.series], one);
  });
  const auto repeats = static_cast<std::ptrdiff_t>(options.repeats);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto first = std::make_move_iterator(runs.begin() + static_cast<std::ptrdiff_t>(i) * repeats);
    summarise(series[i], std::vector<ReplayRun>(first, first + repeats));
  }
  return series;
}

std::vector<Row> standings(const std::vector<ScoredSpace>& spaces, const std::vector<Series>& series, ScoreBy by,
                           int threads) {
  std::vector<Cell> cells(series.size());
  on_threads(threads, series.size(),
             [&](std::size_t i) { cells[i] = cell_of(spaces[series[i].space], series[i], by, bootstrap_seed(i)); });
  std::vector<Row> rows;
  for (std::size_t i = 0; i < series.size(); ++i) {
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& known) { return known.strategy == series[i].strategy; });
    if (row == rows.end()) {
      rows.push_back({series[i].strategy, std::vector<std::optional<Cell>>(spaces.size()), {}, {}});
      row = std::prev(rows.end());
    }
    row->cells[series[i].space] = std::move(cells[i]);
  }
  for (Row& row : rows) add_means(row);
  return rows;
}

}  // namespace wavetune::replay
