#include "search/replay/simulated_device.h"

#include <algorithm>
#include <limits>

namespace wavetune::replay {
namespace {

// time_kernel throws away two runs and needs two more for a median.
constexpr std::size_t fewest_runs = 4;

}  // namespace

measure::TimingLimits racing_limits() {
  measure::TimingLimits limits;
  limits.sample_us = 0;
  limits.warm_up_us = 0;
  limits.cap_us = std::numeric_limits<double>::infinity();
  return limits;
}

SimulatedTrial try_configuration(const RecordedTrial& recorded, Runs runs, double incumbent_ms) {
  SimulatedTrial trial;
  trial.true_ms = recorded.value_ms;
  trial.measured_ms = recorded.value_ms;
  trial.cost_s = recorded.cost_s;
  trial.runs = static_cast<int>(recorded.runs_ms.size());
  if (runs == Runs::all || !recorded.value_ms || recorded.runs_ms.size() < fewest_runs) return trial;

  measure::TimingLimits limits = racing_limits();
  limits.max_samples = std::min(limits.max_samples, static_cast<int>(recorded.runs_ms.size()) - 2);
  std::size_t taken = 0;
  double took_ms = 0;
  const measure::TimedRun next_runs = [&recorded, &taken, &took_ms](int count) {
    double sum_ms = 0;
    for (int i = 0; i < count && taken < recorded.runs_ms.size(); ++i) sum_ms += recorded.runs_ms[taken++];
    took_ms += sum_ms;
    return sum_ms * 1000;
  };
  const measure::TimingResult result = measure::time_kernel({next_runs}, limits, incumbent_ms * 1000);
  trial.measured_ms = result.median_us / 1000;
  trial.runs = static_cast<int>(taken);
  trial.cost_s = recorded.overhead_s + took_ms / 1000;
  return trial;
}

}  // namespace wavetune::replay
