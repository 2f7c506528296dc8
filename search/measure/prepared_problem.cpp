#include "search/measure/prepared_problem.h"

#include <algorithm>
#include <random>
#include <utility>

namespace wavetune::measure {
namespace {

constexpr std::size_t borrowed_from = std::size_t{16} << 20;
// Less is done on the host before it is worth a thought.
constexpr double flops_worth_the_device = 1e8;

struct WantedOrder {
  std::size_t operand;
  templates::Arrangement arrangement;
  bool operator==(const WantedOrder&) const = default;
};

/// Orders other than rows, of operands that kernels only read.
std::vector<WantedOrder> orders_of(const templates::Operator& op, const templates::Problem& problem,
                                   const templates::DeviceLimits& limits) {
  const std::vector<templates::OperandSpec> specs = op.operands(problem);
  std::vector<WantedOrder> orders;
  const auto look_at = [&](const templates::Config& config) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const WantedOrder order{i, op.arrangement(problem, config, i)};
      if (order.arrangement == templates::Arrangement::rows || specs[i].role != templates::Role::input) continue;
      if (std::ranges::find(orders, order) == orders.end()) orders.push_back(order);
    }
  };
  const templates::Config usual = op.default_config(problem, limits);
  look_at(usual);
  const templates::Space space = op.space(problem, limits);
  for (const templates::Parameter& parameter : space.parameters()) {
    templates::Config config = usual;
    for (const std::int64_t value : parameter.values) {
      config[parameter.name] = value;
      look_at(config);
    }
  }
  return orders;
}

}  // namespace

std::size_t input_bytes(const templates::Operator& op, const templates::Problem& problem,
                        const templates::DeviceLimits& limits) {
  const std::vector<templates::OperandSpec> specs = op.operands(problem);
  std::size_t bytes = 0;
  for (const templates::OperandSpec& spec : specs) bytes += templates::bytes_for(spec.dtype, spec.count());
  for (const WantedOrder& order : orders_of(op, problem, limits)) {
    const templates::OperandSpec spec = templates::arranged(specs[order.operand], order.arrangement);
    bytes += templates::bytes_for(spec.dtype, spec.count());
  }
  return bytes;
}

void arrange_inputs(PreparedProblem& prepared, const templates::DeviceLimits& limits) {
  for (const auto& [operand, arrangement] : orders_of(*prepared.op, prepared.problem, limits)) {
    prepared.arranged.push_back(
        {operand, arrangement, templates::arrange(prepared.specs[operand], arrangement, prepared.inputs[operand])});
  }
}

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
