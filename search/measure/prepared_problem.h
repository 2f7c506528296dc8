// A problem with its input data and the right answer: made once, used for every configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "templates/operator.h"

namespace wavetune::measure {

/// An input in another order.
struct ArrangedInput {
  std::size_t operand;
  templates::Arrangement arrangement;
  templates::HostTensor tensor;
};

struct PreparedProblem {
  const templates::Operator* op = nullptr;
  templates::Problem problem;
  templates::Scalars scalars;
  std::vector<templates::OperandSpec> specs;
  std::vector<templates::HostTensor> inputs;    ///< in operand order; outputs hold nothing of meaning
  std::vector<ArrangedInput> arranged;          ///< inputs as configurations read them that do not read rows
  std::vector<templates::HostTensor> expected;  ///< after Operator::reference; large inputs are empty
  /// Instead of `expected`, which is empty then: the device computes the rest (search/measure/expectation.h).
  std::optional<templates::ReferenceSample> sample;
};

/// So many problems stay on a device while they are measured in turns (search/measure/problem_shelf.h).
inline constexpr std::size_t most_problems_at_hand = 6;

/// Who computes the right answer.
enum class ReferenceOn {
  host,
  device,  ///< where the operator can and it is enough work; the host makes a sample of it
};

/// Of all of the inputs, what arrange_inputs() will add counted.
std::size_t input_bytes(const templates::Operator& op, const templates::Problem& problem,
                        const templates::DeviceLimits& limits);

/// Throws Error usage when the operator rejects the problem.
PreparedProblem prepare_problem(const templates::Operator& op, const templates::Problem& problem, std::uint64_t seed,
                                ReferenceOn where = ReferenceOn::host);

/// Puts inputs into the orders that the configurations of the problem's space read them in, as far as those that differ
/// from the default one in one parameter show them: weights of experts take seconds, in which no device has to wait.
void arrange_inputs(PreparedProblem& prepared, const templates::DeviceLimits& limits);

/// After Operator::reference over the inputs of `prepared`.
std::vector<templates::HostTensor> reference_on_host(const PreparedProblem& prepared);

}  // namespace wavetune::measure
