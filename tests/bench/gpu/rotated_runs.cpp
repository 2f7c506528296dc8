#include "rotated_runs.h"

#include <algorithm>
#include <vector>

#include "search/measure/timing.h"
#include "search/measure/workbench.h"

namespace wavetune::gpu_bench {
namespace {

// A graph lasts about this long, so that its launch does not count.
constexpr double graph_us = 500;

}  // namespace

RotatedRuns::RotatedRuns(const hip::Provider& provider, const measure::PreparedProblem& prepared,
                         const db::Config& config, std::span<const std::byte> code)
    : pool_(provider, prepared, {.rotate_bytes = measure::rotate_bytes(provider, 0)}) {
  pool_.arrange_for(config);
  candidate_ = measure::load_candidate(provider, pool_, config, code);
  // Once without a graph: what the driver loads lazily must not be loaded in a capture.
  candidate_->enqueue();
  candidate_->wait();
  const double once = std::max(0.1, std::min(candidate_->timed(1), candidate_->timed(1)));
  runs_ = measure::launches_of_a_sample(once, graph_us, candidate_->sets());
}

double RotatedRuns::measure(int replays) {
  for (int warm_up = 0; warm_up < 3; ++warm_up) candidate_->timed(runs_);
  std::vector<double> times;
  for (int i = 0; i < replays; ++i) times.push_back(candidate_->timed(runs_) / runs_);
  return measure::median(times);
}

}  // namespace wavetune::gpu_bench
