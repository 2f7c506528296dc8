#include "search/measure/prepared_problem.h"

#include <random>

namespace wavetune::measure {

PreparedProblem prepare_problem(const templates::Operator& op, const templates::Problem& problem, std::uint64_t seed) {
  op.check(problem);
  PreparedProblem prepared;
  prepared.op = &op;
  prepared.problem = problem;
  prepared.scalars = op.default_scalars(problem);
  prepared.specs = op.operands(problem);
  for (const templates::OperandSpec& spec : prepared.specs) prepared.inputs.emplace_back(spec.dtype, spec.count());
  std::mt19937_64 random(seed);
  op.fill(problem, random, prepared.inputs);
  prepared.expected = prepared.inputs;
  op.reference(problem, prepared.scalars, prepared.expected);
  return prepared;
}

}  // namespace wavetune::measure
