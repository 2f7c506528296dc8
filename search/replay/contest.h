// Many runs of many strategies on many recorded spaces, and what they are worth beside each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/replay/estimate.h"
#include "search/replay/rank_score.h"
#include "search/replay/replay.h"
#include "search/replay/score.h"

namespace wavetune::replay {

/// A recording with all that its scores are computed from.
struct ScoredSpace {
  Recording recording;
  SpaceStatistics statistics;
  std::vector<double> times_s;
  std::vector<double> random_ms;            ///< random search at these times: exact
  std::vector<double> published_random_ms;  ///< and by the published formula
};

/// Throws what statistics_of throws.
ScoredSpace scored_space(Recording recording, const ScoreRule& rule = {});

/// All runs of one strategy on one space.
struct Series {
  std::string strategy;   ///< its name in the table: two may differ only in how they were run
  std::size_t space = 0;  ///< index into the spaces
  std::vector<Trace> traces;
  double evaluations = 0;             ///< median over the runs
  double device_runs = 0;             ///< kernel runs for one evaluation, mean; 0: not known
  std::optional<double> proposal_us;  ///< our own time for a proposal, median over all; nothing: run elsewhere
};

struct ContestOptions {
  std::vector<std::string> strategies;
  std::vector<Runs> runs = {Runs::all};
  int repeats = 100;
  std::uint64_t seed = 0;
  int threads = 0;        ///< 0: one for each core
  double duration = 1.0;  ///< of a run, in budgets: more shows when slow strategies arrive; scores end at the budget
};

/// What a strategy that was run in this way is called in the table.
std::string label_of(const std::string& strategy, Runs runs);

/// Runs on all threads; what a run shows depends on the seed and its repeat alone (but for the time it took us).
std::vector<Series> run_contest(const std::vector<ScoredSpace>& spaces, const ContestOptions& options);

enum class ScoreBy {
  value,  ///< exact: the expected minimum and mean times
  rank,   ///< as published: mean ranks
};

/// One strategy on one space.
struct Cell {
  std::size_t repeats = 0;
  Estimate by_value, by_rank;  ///< the one that was asked for has an interval
  double evaluations = 0;
  double device_runs = 0;
  double within_5_percent_s = 0;  ///< when half of the runs held something within 5 % of the optimum; infinity: they
                                  ///< did not
  std::optional<double> proposal_us;
};

struct Row {
  std::string strategy;
  std::vector<std::optional<Cell>> cells;               ///< by space; nothing where it was not run
  std::optional<Estimate> mean_by_value, mean_by_rank;  ///< over the spaces; nothing unless it was run on all
};

/// One row a strategy, in the order in which they first appear.
std::vector<Row> standings(const std::vector<ScoredSpace>& spaces, const std::vector<Series>& series, ScoreBy by,
                           int threads);

}  // namespace wavetune::replay
