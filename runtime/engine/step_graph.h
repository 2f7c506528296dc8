// A whole step as one HIP graph: captured from the ranks' streams once, then replayed with a single call, so that the
// host does nothing between a step's kernels. What changes from step to step (tokens, positions, slots, block tables)
// is read from memory whose addresses stay.
#pragma once

#include <functional>
#include <span>

#include "runtime/comm/communicator.h"
#include "runtime/hip/handles.h"

namespace wavetune::engine {

class StepGraph {
 public:
  /// Captures what `enqueue` gives the streams of `ranks`; it may neither allocate nor wait. Throws Error device where
  /// a call cannot be captured, and what `enqueue` throws; no stream is left in capture then.
  StepGraph(const hip::Api& api, std::span<const comm::Rank> ranks, const std::function<void()>& enqueue);
  /// On rank 0's stream. The other ranks' streams must have nothing under way.
  void launch() const;

 private:
  const hip::Api* api_;
  comm::Rank first_;
  hip::GraphExec executable_;
};

}  // namespace wavetune::engine
