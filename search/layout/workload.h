// What a node is asked to do: which step shapes are tuned and by which layouts are compared.
#pragma once

#include <cstdint>
#include <vector>

#include "model/program.h"

namespace wavetune::search {

struct Workload {
  int concurrency = 32;                           ///< sequences decoded at the same time on the node, over all replicas
  std::int64_t prefill_tokens = 256;              ///< of one prefill chunk: the step size that `serve` fills up to
  std::vector<int> decode_batches;                ///< tuned instead of 1, 2, 4, ... up to the concurrency; empty: those
  std::vector<std::int64_t> more_prefill_tokens;  ///< chunks of other sizes that are tuned too
  std::int64_t context = 512;                     ///< longest context of a typical step
  std::int64_t max_context = 8192;                ///< longest sequence that can be served
  int page_size = 16;
};

/// Sequences in one replica's decode step: concurrency / dp, rounded up, at least 1.
int decode_batch(const Workload& workload, int dp);
model::StepShape decode_step(const Workload& workload, int batch);
/// One chunk of one sequence's prompt.
model::StepShape prefill_step(const Workload& workload);

/// Decode steps at batch 1, 2, 4, ... up to the concurrency (or the batches asked for), those that the layouts need,
/// and the prefill chunks.
std::vector<model::StepShape> tuned_steps(const Workload& workload, const std::vector<int>& dp_degrees);

}  // namespace wavetune::search
