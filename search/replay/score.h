// How good a strategy is on a recorded space, by the definition of Willemsen et al., "A methodology for comparing
// optimization algorithms for auto-tuning", FGCS 2024 (doi 10.1016/j.future.2024.05.021): its best-so-far curve between
// a calculated random search (0) and the optimum (1), averaged over time.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "search/replay/recording.h"
#include "search/replay/trace.h"

namespace wavetune::replay {

/// The definition's parameters.
struct ScoreRule {
  double p = 0.95;  ///< the budget ends where random search is expected to reach optimum + (median - optimum)(1 - p)
  double p_start = 0.01;  ///< and it is looked at from there on
  int points = 10'000;    ///< evenly spaced times at which curves are compared
};

/// What the score needs to know of a recording.
struct SpaceStatistics {
  std::size_t size = 0;              ///< all configurations, valid or not
  std::vector<double> ascending_ms;  ///< the valid values
  double optimum_ms = 0;
  double median_ms = 0;    ///< of the valid values
  double mean_cost_s = 0;  ///< of a trial, invalid ones too
  int start_evaluations = 0, evaluations = 0;
  double start_s = 0, budget_s = 0;  ///< the same as time: evaluations times the mean cost
};

/// Throws Error bad_data when the space cannot be scored: fewer than two different valid values, or trials that cost
/// nothing.
SpaceStatistics statistics_of(const Recording& recording, const ScoreRule& rule = {});

/// The times at which curves are compared: `rule.points` from the start to the budget.
std::vector<double> time_points(const SpaceStatistics& space, const ScoreRule& rule = {});

/// The smallest of `evaluations` configurations drawn without replacement, expected; the median stands in where none of
/// them is valid.
double random_search_ms(const SpaceStatistics& space, std::size_t evaluations);

/// Random search at the times, one evaluation lasting the mean cost. What it is about to evaluate shows nothing yet, so
/// the number of evaluations is rounded down.
std::vector<double> random_search_curve(const SpaceStatistics& space, const std::vector<double>& times_s);

/// The trace's best at each time; the median until there is one.
std::vector<double> curve_of(const Trace& trace, const SpaceStatistics& space, const std::vector<double>& times_s);

/// (baseline - curve) / (baseline - optimum), averaged over the points at which the baseline is not yet at the optimum.
double score_of_curve(const std::vector<double>& curve, const std::vector<double>& baseline,
                      const SpaceStatistics& space);

/// The first time at which the trace holds something within `fraction` of the optimum; infinity when it never does.
double time_to_within(const Trace& trace, const SpaceStatistics& space, double fraction);

}  // namespace wavetune::replay
