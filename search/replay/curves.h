// How the strategies' best-so-far falls over time: for people and plotting programs.
#pragma once

#include <string>
#include <vector>

#include "search/replay/contest.h"

namespace wavetune::replay {

/// One strategy on one space, thinned to few times.
struct Curve {
  std::string strategy;
  std::size_t space = 0;
  std::vector<double> times_s;
  std::vector<double> mean_ms;          ///< of the runs' best so far
  std::vector<double> low_ms, high_ms;  ///< 95 % interval of that mean, taking the runs' spread for normal
  std::vector<double> random_ms;        ///< calculated random search
  std::vector<double> score;            ///< (random - mean) / (random - optimum)
};

std::vector<Curve> curves_of(const std::vector<ScoredSpace>& spaces, const std::vector<Series>& series);

/// space,strategy,relative_time,time_s,mean_best_ms,low_ms,high_ms,random_ms,score; one row a time. relative_time is 0
/// at the start and 1 at the end of the budget.
std::string curves_csv(const std::vector<ScoredSpace>& spaces, const std::vector<Curve>& curves);

}  // namespace wavetune::replay
