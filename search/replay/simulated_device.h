// A recording that answers like a device: what a trial of a configuration costs and which time it shows.
#pragma once

#include <optional>

#include "search/measure/timing.h"
#include "search/replay/recording.h"

namespace wavetune::replay {

/// How many of the recorded runs a trial takes.
enum class Runs {
  all,     ///< every trial costs what was recorded: the published cost model
  racing,  ///< run after run by the rule of a live tune (measure::time_kernel) until the median stands still or the
           ///< configuration is hopeless: a trial costs the runs taken
};

/// One trial on the simulated device.
struct SimulatedTrial {
  std::optional<double> measured_ms;  ///< what the tuner sees; nothing: the configuration failed
  std::optional<double> true_ms;      ///< the recording's value, over all runs
  double cost_s = 0;
  int runs = 0;  ///< taken
};

/// The rule of a live tune, for runs that are taken singly: no launch is long enough to be repeated inside a sample,
/// and the two runs that time_kernel makes first are all of the warm-up.
measure::TimingLimits racing_limits();

/// `incumbent_ms` is the best time seen so far, 0 for none; only racing looks at it. A racing trial with fewer than
/// four recorded runs (too few to choose from), or that failed, costs what was recorded.
SimulatedTrial try_configuration(const RecordedTrial& recorded, Runs runs, double incumbent_ms);

}  // namespace wavetune::replay
