// The score as the method's authors compute it (autotuning_methodology 2.x): curves are averages of ranks among the
// valid configurations, not of times, and the random search is a closed formula over ranks. Beside the exact score of
// score.h, for comparison with what others print. Not done here: bagging of the fit.
#pragma once

#include <vector>

#include "search/replay/score.h"

namespace wavetune::replay {

/// Random search's time at each of the times: the value at rank k(N + 1)/(k + 1) in descending order after k
/// evaluations, with a monotone cubic (Fritsch and Carlson's) through the steps.
std::vector<double> published_random_curve(const SpaceStatistics& space, const std::vector<double>& times_s);

/// The ranks of many runs over time, ready to be averaged with different weights.
class RankedTraces {
 public:
  RankedTraces(const std::vector<Trace>& traces, const SpaceStatistics& space, const std::vector<double>& times_s);

  /// The value at the mean rank at each of the times, by isotonic regression over the evaluations of all runs; flat
  /// after half of the runs have ended. `weights`: one for each trace, how often it counts.
  std::vector<double> curve(const std::vector<double>& weights) const;

 private:
  struct Point {
    double time_s;
    double rank;  ///< 0: the best configuration
    std::size_t trace;
  };

  const SpaceStatistics& space_;
  const std::vector<double>& times_s_;
  std::vector<Point> points_;  ///< in order of time
  double last_s_ = 0;          ///< when half of the runs have ended
};

}  // namespace wavetune::replay
