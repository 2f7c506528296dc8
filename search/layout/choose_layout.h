// Chooses TP x DP from operator times.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/layout.h"
#include "search/layout/candidate_layouts.h"
#include "search/layout/cost_table.h"
#include "search/layout/workload.h"

namespace wavetune::search {

struct LayoutInput {
  const model::ModelConfig* config = nullptr;
  int devices = 1;
  std::size_t memory_bytes = 0;  ///< of one device
  db::Objective objective = db::Objective::throughput;
  Workload workload;
};

/// Costs a decode step and a prefill chunk of every candidate, and takes the one with the highest score among those
/// that fit into nine tenths of a device's memory (weights, cache for the concurrency at the workload's context,
/// activations).
///
/// Score, tokens/s: latency: of a single stream. throughput: generated tokens of the whole node when each comes with
/// one prompt token, that is, 1 / (1 / decode rate + 1 / prefill rate). Equal scores go to the smaller tp.
///
/// A rank's work is taken one call after the other, without gaps; ranks and replicas are taken to be equally fast and
/// independent. Throws Error usage when no candidate fits, naming the memory that the smallest one needs.
db::Layout choose_layout(const LayoutInput& input, const std::vector<CandidateLayout>& candidates,
                         const CostTable& costs);

}  // namespace wavetune::search
