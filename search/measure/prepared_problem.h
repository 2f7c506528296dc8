// A problem with its input data and the right answer: made once, used for every configuration.
#pragma once

#include <cstdint>
#include <vector>

#include "templates/operator.h"

namespace wavetune::measure {

struct PreparedProblem {
  const templates::Operator* op = nullptr;
  templates::Problem problem;
  templates::Scalars scalars;
  std::vector<templates::OperandSpec> specs;
  std::vector<templates::HostTensor> inputs;    ///< in operand order; outputs hold nothing of meaning
  std::vector<templates::HostTensor> expected;  ///< after Operator::reference; large inputs are empty
};

/// Throws Error usage when the operator rejects the problem.
PreparedProblem prepare_problem(const templates::Operator& op, const templates::Problem& problem, std::uint64_t seed);

}  // namespace wavetune::measure
