// Whether serving picks the right neighbour for a shape that was not tuned: neighbours' winners, timed on it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "search/coverage/coverage_report.h"
#include "search/driver/tuner.h"

namespace wavetune::search {

struct NeighbourTime {
  std::string from;  ///< problem whose winner it is; empty: the default configuration
  db::Config config;
  double us = 0;  ///< 0: it did not run right here
};

/// One shape that serving answers by the nearest winner.
struct NeighbourCheck {
  db::Problem problem;
  std::vector<NeighbourTime> neighbours;  ///< the first is what serving takes; the default configuration is not in it
  NeighbourTime fallback;                 ///< the default configuration

  /// The fastest that ran right; nullptr when none did.
  const NeighbourTime* best() const;
  /// Time of the choice over that of the best neighbour; 0 when it cannot be said.
  double ratio() const;
};

struct NeighbourSummary {
  int shapes = 0;          ///< with two neighbours at least that ran right: there was something to choose
  int best_picked = 0;     ///< the choice was the fastest
  int nearly_picked = 0;   ///< or within 1 % of it: two runs of one kernel differ by as much
  int faster_default = 0;  ///< the default configuration beat the choice by more than that
  double mean_loss = 1;    ///< geometric mean of the ratios
};
NeighbourSummary summarise(const std::vector<NeighbourCheck>& checks);

/// Looked-up shapes of `report` that are answered by the nearest winner, those first whose kernels take most of a
/// step's time, then by the time of one call; at most `most`.
std::vector<db::Problem> nearest_lookups(const CoverageReport& report, std::size_t most);

/// Times, in turns, the winners of up to four neighbours on each side in m and the default configuration on each of
/// `problems`, and stores the trials: the shape is tuned then, as far as these go. Ends early as Tuner::compare.
std::vector<NeighbourCheck> check_neighbours(Tuner& tuner, const kernels::WinnerIndex& winners,
                                             const templates::DeviceLimits& limits,
                                             const std::vector<db::Problem>& problems, Reporter& reporter);

std::string neighbours_text(const std::vector<NeighbourCheck>& checks);
nlohmann::json neighbours_json(const std::vector<NeighbourCheck>& checks);

}  // namespace wavetune::search
