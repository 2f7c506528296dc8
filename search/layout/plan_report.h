// A plan for the reader and for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/layout/plan.h"
#include "search/layout/reference_runs.h"

namespace wavetune::search {

struct PlanReport {
  const Plan* plan = nullptr;
  const Node* node = nullptr;
  const PlanOptions* options = nullptr;
  std::vector<std::string> assumptions;  ///< whole sentences
  std::optional<ReferenceRun> reference;
};

/// The table of loads in the columns of published deployments, one line of figures for each layout, what was chosen and
/// why, how much of it was measured, and every assumption.
std::string plan_text(const PlanReport& report);
/// One line: {"event": "layout", "tp": ..., "dp": ..., "table": [...], "assumptions": [...], "reference": {...}}.
std::string plan_event(const PlanReport& report);

}  // namespace wavetune::search
