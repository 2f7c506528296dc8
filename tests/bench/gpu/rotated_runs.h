// One tuned configuration, timed as `tune` does: many runs in one graph, over copies of the operands that are together
// larger than the caches, so that weights come from memory.
#pragma once

#include <memory>
#include <span>

#include "runtime/hip/provider.h"
#include "search/measure/candidate.h"
#include "search/measure/operand_pool.h"
#include "search/measure/prepared_problem.h"

namespace wavetune::gpu_bench {

class RotatedRuns {
 public:
  /// On the provider's first device. `prepared` must outlive it. Throws Error device.
  RotatedRuns(const hip::Provider& provider, const measure::PreparedProblem& prepared, const db::Config& config,
              std::span<const std::byte> code);
  /// Median over `replays` replays of the time of one run, in microseconds.
  double measure(int replays);

 private:
  measure::OperandPool pool_;
  std::unique_ptr<measure::Candidate> candidate_;
  int runs_ = 1;  ///< in the graph
};

}  // namespace wavetune::gpu_bench
