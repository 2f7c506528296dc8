// What a problem's operands hold when it is only timed: random numbers of sensible size, and for indices what the
// operator itself makes. Far quicker than Operator::fill for gigabytes of expert weights.
#pragma once

#include <cstdint>
#include <vector>

#include "search/measure/prepared_problem.h"

namespace wavetune::gpu_bench {

struct OperandData {
  measure::PreparedProblem prepared;  ///< without a reference: nothing is compared here
  /// Bytes of inputs and outputs that one run needs: experts that no row goes to do not count.
  double needed_bytes = 0;
  /// The routing of a grouped product: row numbers sorted by expert, and where each expert's begin. Else empty.
  std::vector<std::int32_t> order, offsets;
};

OperandData operand_data(const templates::Operator& op, const db::Problem& problem);

}  // namespace wavetune::gpu_bench
