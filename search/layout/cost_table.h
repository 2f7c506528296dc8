// What a problem costs: measured where there is a winner, estimated elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/database.h"
#include "search/measure/peak_run.h"
#include "templates/operator.h"

namespace wavetune::search {

struct ProblemCost {
  double us = 0;
  bool measured = false;
};

/// A snapshot of an environment's winners. Capacities (slots, sequences, pages) do not change what there is to do, so a
/// winner at other capacities counts as measured.
class CostTable {
 public:
  /// Winners of other template sources than this executable's are left out.
  CostTable(const db::Database& database, const db::Environment& environment, measure::DevicePeak peak);
  /// From a given list (tests, simulations).
  CostTable(const std::vector<db::Winner>& winners, measure::DevicePeak peak);

  /// Estimates are the roofline's time divided by the share of the roofline that measured shapes of the same operator
  /// reach (their median; that of all operators when there are none; all of it when nothing was measured): a bare
  /// roofline would always make the shape that nobody measured look best. An operator unknown to this build is costed
  /// as moving its dims' product once, in float32.
  ProblemCost cost(const db::Problem& problem) const;

 private:
  void learn(const std::vector<db::Winner>& winners);
  double roofline_of(const db::Problem& problem) const;

  measure::DevicePeak peak_;
  std::map<std::string, double> measured_us_;            ///< by key without capacities
  std::map<std::string, double, std::less<>> slowdown_;  ///< by operator: measured / roofline
  double overall_slowdown_ = 1;
};

}  // namespace wavetune::search
