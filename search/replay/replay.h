// Runs a strategy against a recording with a simulated clock, through the interface of a live tune.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "search/replay/recording.h"
#include "search/replay/simulated_device.h"
#include "search/replay/trace.h"
#include "search/strategy/strategy.h"

namespace wavetune::replay {

struct ReplayOptions {
  double budget_s = 0;   ///< of simulated time; the trial that passes it is the last
  int evaluations = 32;  ///< how many the budget allows, about: told to the strategy
  Runs runs = Runs::all;
  std::uint64_t seed = 0;
};

struct ReplayRun {
  Trace trace;
  std::vector<float> proposal_us;  ///< our own time for each: ask and tell together
  std::int64_t device_runs = 0;    ///< kernel runs taken
};

/// Throws Error internal when the strategy proposes a point twice or one that is not in the space, and what it throws.
ReplayRun replay_run(const Recording& recording, std::string_view strategy, const ReplayOptions& options);

/// The seed of one repeat: well mixed, and the same whatever else is run.
std::uint64_t seed_of_repeat(std::uint64_t seed, int repeat);

}  // namespace wavetune::replay
