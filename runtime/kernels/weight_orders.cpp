#include "runtime/kernels/weight_orders.h"

#include <functional>
#include <utility>
#include <vector>

#include "templates/registry.h"

namespace wavetune::kernels {
namespace {

using Moves = WinnerIndex::Moves;

struct Family {
  db::Problem problem;
  std::vector<Moves> weights;  ///< by operand
  std::vector<const model::OpCall*> calls;
};

bool is_whole(const model::Program& program, const model::Ref& ref, const templates::OperandSpec& spec) {
  const model::Buffer& buffer = program.buffers[static_cast<std::size_t>(ref.buffer)];
  const model::StepShape one;
  const std::int64_t elements = one.value(buffer.rows) * one.value(buffer.cols);
  const bool dense = ref.row_stride == spec.cols && (spec.batch == 1 || ref.batch_stride == spec.rows * spec.cols);
  return ref.offset == 0 && dense && elements == spec.count();
}

using SetOrders = std::function<void(const db::Problem&, Orders)>;

WeightOrders settle(const model::Program& program, const templates::DeviceLimits& limits, const WinnerIndex& winners,
                    const SetOrders& set_orders) {
  const auto is_weight = [&program](const model::Ref& ref) {
    return ref.buffer >= 0 && program.buffers[static_cast<std::size_t>(ref.buffer)].storage == model::Storage::weight;
  };
  std::map<int, int> readers;
  for (const model::OpCall& call : program.calls) {
    for (const model::Ref& ref : call.operands) readers[ref.buffer] += is_weight(ref) ? 1 : 0;
  }

  std::map<std::string, Family> families;
  for (const model::OpCall& call : program.calls) {
    const templates::Operator* op = templates::find_operator(call.op);
    if (op == nullptr || call.op == "all_reduce") continue;  // collectives have no weights, and operands of their own
    const db::Problem problem = call.problem({});
    const std::vector<templates::OperandSpec> specs = op->operands(problem);
    Family& family = families[family_key(problem)];
    family.problem = problem;
    family.weights.resize(specs.size(), Moves::not_a_weight);
    family.calls.push_back(&call);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const model::Ref& ref = call.operands[i];
      if (!is_weight(ref)) continue;
      const bool movable = readers[ref.buffer] == 1 && is_whole(program, ref, specs[i]);
      Moves& moves = family.weights[i];
      moves = movable && moves != Moves::stays ? Moves::may_move : Moves::stays;
    }
  }

  WeightOrders orders;
  for (const auto& [key, family] : families) {
    const templates::Operator& op = templates::get_operator(family.problem.op);
    const Orders wanted = winners.preferred_orders(family.problem, limits, family.weights);
    const std::vector<templates::OperandSpec> specs = op.operands(family.problem);
    for (const model::OpCall* call : family.calls) {
      for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!wanted[i] || *wanted[i] == templates::Arrangement::rows) continue;
        orders.emplace(call->operands[i].buffer, WeightOrder{specs[i], *wanted[i]});
      }
    }
    set_orders(family.problem, wanted);
  }
  return orders;
}

}  // namespace

WeightOrders settle_weight_orders(const model::Program& program, const templates::DeviceLimits& limits,
                                  KernelCache& kernels) {
  return settle(program, limits, kernels.winners(), [&kernels](const db::Problem& problem, Orders orders) {
    kernels.set_orders(problem, std::move(orders));
  });
}

WeightOrders settle_weight_orders(const model::Program& program, const templates::DeviceLimits& limits,
                                  WinnerIndex& winners) {
  return settle(program, limits, winners, [&winners](const db::Problem& problem, Orders orders) {
    winners.set_orders(problem, std::move(orders));
  });
}

}  // namespace wavetune::kernels
