// The layout planner: every TP x DP of a node under a workload, by simulating the server over what its operators cost.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/layout.h"
#include "model/config.h"
#include "search/layout/candidate_layouts.h"
#include "search/layout/cost_table.h"
#include "search/layout/node.h"
#include "search/layout/served_formats.h"
#include "search/layout/simulator.h"
#include "search/layout/traffic.h"

namespace wavetune::search {

struct PlanOptions {
  db::Objective objective = db::Objective::throughput;
  Traffic traffic;
  ServedFormats formats;
  Speculation speculation;
  std::int64_t step_tokens = 8192;   ///< a step's budget: decoding sequences, then prompts
  std::int64_t max_sequences = 256;  ///< running at once in a replica
  std::int64_t page_size = 16;
  double ttft_limit_s = 5;
  double gpu_hour = 0;  ///< price of a device's hour; 0: not given
};

/// What the steps of one layout cost.
struct LayoutCosts {
  CostTable costs;
  double gap_us = 0;         ///< as StepClockOptions
  std::int64_t context = 0;  ///< as StepClockOptions
};
/// Called once for each candidate that the model can be split into.
using CostsOfLayout = std::function<std::shared_ptr<const LayoutCosts>(const CandidateLayout&)>;

struct Plan {
  db::Layout layout;   ///< its table has a row for every candidate, those that do not fit included
  std::string reason;  ///< why the chosen one won
};

/// Every TP x DP of so many devices (those in `only_tp` when it is not empty), under the limits of the simulated
/// server. Throws as candidate_layouts.
std::vector<CandidateLayout> planned_candidates(const PlanOptions& options, const model::ModelConfig& config,
                                                int devices, const std::vector<int>& only_tp);

/// Memory: weights in their real format (with speculation the MTP layer's too), workspaces of the largest step, and
/// what remains of nine tenths of a device for the cache, which must hold at least one whole sequence (no page is
/// shared between sequences: a prefix hit saves time here, not room).
///
/// Score: throughput: generated tokens/s at the highest rate at which TTFT p95 keeps the limit (closed-loop traffic:
/// at the most clients). latency: those of a single stream. cost: generated tokens for a unit of money, by the same.
/// Equal scores go to the smaller tp. Throws Error usage when nothing fits.
Plan plan_layout(const model::ModelConfig& config, const Node& node, const PlanOptions& options,
                 const std::vector<CandidateLayout>& candidates, const CostsOfLayout& costs_of);

/// What one layout gives under the loads of `traffic` (rates or clients, one of them not empty) alone. The program must
/// be there and fit.
std::vector<db::LoadPoint> simulate_loads(const Node& node, const PlanOptions& options,
                                          const CandidateLayout& candidate, const LayoutCosts& costs,
                                          const Traffic& traffic);

/// Money for a million generated tokens of a node at `tokens_per_s`.
double cost_of_million(double gpu_hour, int devices, double tokens_per_s);

}  // namespace wavetune::search
