#include "search/replay/replay.h"

#include <chrono>

#include "db/base/error.h"

namespace wavetune::replay {
namespace {

using Clock = std::chrono::steady_clock;

float microseconds_since(Clock::time_point start) {
  return std::chrono::duration<float, std::micro>(Clock::now() - start).count();
}

}  // namespace

std::uint64_t seed_of_repeat(std::uint64_t seed, int repeat) {
  // SplitMix64 (Steele, Lea and Flood 2014), so that neighbouring seeds and repeats have nothing in common.
  const auto mix = [](std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  return mix(mix(seed) + static_cast<std::uint64_t>(repeat));
}

ReplayRun replay_run(const Recording& recording, std::string_view strategy, const ReplayOptions& options) {
  search::StrategyOptions for_strategy;
  for_strategy.seed = options.seed;
  for_strategy.expected_trials = options.evaluations;
  for_strategy.budget_s = options.budget_s;
  const auto searcher = search::make_strategy(strategy, recording.space, for_strategy);

  ReplayRun run;
  std::vector<bool> tried(recording.trials.size(), false);
  double clock_s = 0;
  double incumbent_ms = 0;        // as measured
  std::optional<double> held_ms;  // what the incumbent truly takes
  while (clock_s < options.budget_s) {
    const Clock::time_point asked = Clock::now();
    const std::optional<search::PointId> point = searcher->ask();
    float own_us = microseconds_since(asked);
    if (!point) break;
    if (*point >= tried.size() || tried[*point]) {
      fail(ErrorKind::internal, "strategy {} proposed point {} of {} {}", strategy, *point, tried.size(),
           *point < tried.size() ? "twice" : "");
    }
    tried[*point] = true;
    const SimulatedTrial trial = try_configuration(recording.trials[*point], options.runs, incumbent_ms);
    clock_s += trial.cost_s;
    run.device_runs += trial.runs;
    if (trial.measured_ms && (incumbent_ms <= 0 || *trial.measured_ms < incumbent_ms)) {
      incumbent_ms = *trial.measured_ms;
      held_ms = trial.true_ms;
    }
    run.trace.push_back({clock_s, held_ms});
    search::Observation observation;
    if (trial.measured_ms) observation.time_us = *trial.measured_ms * 1000;
    observation.cost_s = trial.cost_s;
    const Clock::time_point told = Clock::now();
    searcher->tell(*point, observation);
    own_us += microseconds_since(told);
    run.proposal_us.push_back(own_us);
  }
  return run;
}

}  // namespace wavetune::replay
