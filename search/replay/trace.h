// What one run of a strategy showed over time.
#pragma once

#include <optional>
#include <vector>

namespace wavetune::replay {

struct TracePoint {
  double time_s = 0;              ///< since the start of the run, when an evaluation ended
  std::optional<double> best_ms;  ///< what the run held for its best from then on; nothing: no valid one yet
};

/// One point an evaluation, times ascending.
using Trace = std::vector<TracePoint>;

}  // namespace wavetune::replay
