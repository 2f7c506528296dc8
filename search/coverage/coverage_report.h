// How well a database answers for what a served model runs, and what part of a step's time that concerns.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/kernels/kernel_table.h"
#include "search/coverage/served_model.h"
#include "search/layout/cost_table.h"

namespace wavetune::search {

/// A value for each kernels::Match, in its order.
template <class T>
using ByMatch = std::array<T, std::size(kernels::all_matches)>;

struct CoveredStep {
  std::string name;  ///< "decode, batch 16"
  model::StepShape shape;
};

/// One distinct operator shape: looked up at start, or run by one of the steps.
struct CoveredShape {
  db::Problem problem;
  db::Problem lookup;      ///< whose kernel it runs with
  kernels::Choice choice;  ///< for the lookup
  kernels::Match match = kernels::Match::fallback;
  double us = 0;     ///< of one call (CostTable)
  double share = 0;  ///< of a step's time, mean over the steps
};

struct CoveredTime {
  CoveredStep step;
  double us = 0;
  double measured_us = 0;  ///< of it from measurements; the rest is estimated (CostTable)
  ByMatch<double> by_match{};
};

struct FamilyTime {
  std::string name;  ///< "gemm/bf16"
  ByMatch<std::int64_t> shapes{};
  ByMatch<double> share{};  ///< of a step's time, mean over the steps
};

struct CoverageReport {
  std::vector<CoveredTime> steps;
  std::vector<FamilyTime> families;  ///< by share, largest first
  std::vector<CoveredShape> shapes;  ///< by share, largest first

  ByMatch<std::int64_t> counts() const;
  /// Of a step's time, mean over the steps: what runs on another shape's kernel that rounding does not explain, or on a
  /// default configuration.
  double untuned_share() const;
};

/// `winners` knows how the weights lie (settle_weight_orders).
CoverageReport cover(const ServedModel& served, const std::vector<CoveredStep>& steps,
                     const kernels::WinnerIndex& winners, const CostTable& costs,
                     const templates::DeviceLimits& limits);

/// Three tables: steps, operator families, and the `most` untuned shapes that take most time.
std::string coverage_text(const CoverageReport& report, std::size_t most);
nlohmann::json coverage_json(const CoverageReport& report);

}  // namespace wavetune::search
