// What others published of GLM-5.2 served on a node of MI355X: printed beside what the planner predicts.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "search/layout/plan.h"

namespace wavetune::search {

struct ReferenceRun {
  std::string_view source;
  std::string_view explanation;  ///< what makes it differ from a prediction out of kernel times
  std::int64_t input = 0, output = 0;
  double hit = 0;
  int tp = 1, dp = 1;
  bool open = true;                      ///< arrivals at rates; else closed loops
  std::vector<db::LoadPoint> published;  ///< 0 where nothing was published
  std::vector<db::LoadPoint> predicted;  ///< by simulate_loads, at the same loads
};

/// The run of this model, formats, kind of devices and workload with its prediction, if one was published.
std::optional<ReferenceRun> reference_run(const model::ModelConfig& config, const Node& node,
                                          const PlanOptions& options, const LayoutCosts& costs);

}  // namespace wavetune::search
