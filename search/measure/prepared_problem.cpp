#include "search/measure/prepared_problem.h"

#include <random>
#include <utility>

namespace wavetune::measure {
namespace {

constexpr std::size_t borrowed_from = std::size_t{16} << 20;
// Less is done on the host before it is worth a thought.
constexpr double flops_worth_the_device = 1e8;

}  // namespace

PreparedProblem prepare_problem(const templates::Operator& op, const templates::Problem& problem, std::uint64_t seed,
                                ReferenceOn where) {
  op.check(problem);
  PreparedProblem prepared;
  prepared.op = &op;
  prepared.problem = problem;
  prepared.scalars = op.default_scalars(problem);
  prepared.specs = op.operands(problem);
  for (const templates::OperandSpec& spec : prepared.specs) prepared.inputs.emplace_back(spec.dtype, spec.count());
  std::mt19937_64 random(seed);
  op.fill(problem, random, prepared.inputs);
  if (where == ReferenceOn::device && op.cost(problem).flops >= flops_worth_the_device) {
    templates::ReferenceSample sample = op.reference_sample(problem, prepared.inputs);
    if (!sample.indices.empty()) {
      prepared.sample = std::move(sample);
      return prepared;
    }
  }
  // Weights of experts are gigabytes: the reference borrows large inputs instead of copying them.
  std::vector<std::size_t> borrowed;
  for (std::size_t i = 0; i < prepared.inputs.size(); ++i) {
    if (prepared.specs[i].role == templates::Role::input && prepared.inputs[i].bytes().size() > borrowed_from) {
      borrowed.push_back(i);
      prepared.expected.push_back(std::move(prepared.inputs[i]));
    } else {
      prepared.expected.push_back(prepared.inputs[i]);
    }
  }
  op.reference(problem, prepared.scalars, prepared.expected);
  for (const std::size_t i : borrowed) prepared.inputs[i] = std::exchange(prepared.expected[i], {});
  return prepared;
}

std::vector<templates::HostTensor> reference_on_host(const PreparedProblem& prepared) {
  std::vector<templates::HostTensor> tensors = prepared.inputs;
  prepared.op->reference(prepared.problem, prepared.scalars, tensors);
  return tensors;
}

}  // namespace wavetune::measure
