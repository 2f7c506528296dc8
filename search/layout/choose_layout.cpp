#include "search/layout/choose_layout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

constexpr double usable_memory = 0.9;  // the rest: code objects, graphs, allocator slack, the driver
constexpr double bytes_in_gb = 1e9;

struct StepCost {
  double us = 0;
  double measured_us = 0;
  double all_reduce_us = 0;
};

StepCost cost_of(const model::Program& program, const model::StepShape& step, const CostTable& costs,
                 std::set<std::string>& estimated) {
  StepCost total;
  for (const auto& [problem, count] : step_problems(program, step)) {
    const ProblemCost one = costs.cost(problem);
    const double us = one.us * count;
    total.us += us;
    if (one.measured())
      total.measured_us += us;
    else
      estimated.insert(problem.key());
    if (problem.op == "all_reduce" || problem.op == "gather_logits") total.all_reduce_us += us;
  }
  return total;
}

double memory_of(const model::Program& program, const Workload& workload, int batch) {
  const model::StepShape decode = decode_step(workload, batch);
  const model::StepShape prefill = prefill_step(workload);
  const model::StepShape largest{std::max(decode.tokens, prefill.tokens), std::max(decode.samples, prefill.samples),
                                 decode.context, decode.slots};
  const double cache_tokens = static_cast<double>(batch) * static_cast<double>(decode.context);
  return static_cast<double>(program.weight_bytes()) +
         cache_tokens * static_cast<double>(program.cache_bytes_per_token()) +
         static_cast<double>(program.activation_bytes(largest));
}

double rate(double tokens, double us) { return us > 0 ? tokens * 1e6 / us : 0; }

db::LayoutRow cost_candidate(const LayoutInput& input, const CandidateLayout& candidate, const CostTable& costs) {
  db::LayoutRow row;
  row.tp = candidate.tp;
  row.dp = candidate.dp;
  row.decode_batch = decode_batch(input.workload, candidate.dp);
  row.prefill_tokens = static_cast<int>(input.workload.prefill_tokens);
  if (!candidate.program) {
    row.fits = false;
    row.reason = candidate.reason;
    return row;
  }
  const model::Program& program = *candidate.program;
  std::set<std::string> estimated;
  const StepCost decode = cost_of(program, decode_step(input.workload, row.decode_batch), costs, estimated);
  const StepCost prefill = cost_of(program, prefill_step(input.workload), costs, estimated);
  const StepCost single = cost_of(program, decode_step(input.workload, 1), costs, estimated);
  row.decode_step_us = decode.us;
  row.prefill_step_us = prefill.us;
  row.all_reduce_us = decode.all_reduce_us;
  row.decode_tokens_per_s = candidate.dp * rate(row.decode_batch, decode.us);
  row.prefill_tokens_per_s = candidate.dp * rate(row.prefill_tokens, prefill.us);
  row.single_stream_tokens_per_s = rate(1, single.us);
  const double all = decode.us + prefill.us + single.us;
  row.measured_share = all > 0 ? (decode.measured_us + prefill.measured_us + single.measured_us) / all : 0;
  row.estimated.assign(estimated.begin(), estimated.end());
  if (input.objective == db::Objective::latency) {
    row.score = row.single_stream_tokens_per_s;
  } else if (row.decode_tokens_per_s > 0 && row.prefill_tokens_per_s > 0) {
    row.score = 1 / (1 / row.decode_tokens_per_s + 1 / row.prefill_tokens_per_s);
  }
  row.memory_bytes_per_device = memory_of(program, input.workload, row.decode_batch);
  const double usable = usable_memory * static_cast<double>(input.memory_bytes);
  if (row.memory_bytes_per_device > usable) {
    row.fits = false;
    row.reason = fmt::format("needs {:.2f} GB on a device, {:.2f} GB are usable",
                             row.memory_bytes_per_device / bytes_in_gb, usable / bytes_in_gb);
  }
  return row;
}

const db::LayoutRow* best_row(const std::vector<db::LayoutRow>& table) {
  const db::LayoutRow* best = nullptr;
  for (const db::LayoutRow& row : table) {
    if (row.fits && (best == nullptr || row.score > best->score)) best = &row;
  }
  return best;
}

[[noreturn]] void fail_nothing_fits(const LayoutInput& input, const std::vector<db::LayoutRow>& table) {
  std::string reasons;
  for (const db::LayoutRow& row : table) reasons += fmt::format("; tp {}: {}", row.tp, row.reason);
  fail(ErrorKind::usage,
       "{} fits on {} device{} in no layout{}. Use more or larger devices, or lower --concurrency or --context",
       input.config->name, input.devices, input.devices == 1 ? "" : "s", reasons);
}

}  // namespace

db::Layout choose_layout(const LayoutInput& input, const std::vector<CandidateLayout>& candidates,
                         const CostTable& costs) {
  db::Layout layout;
  layout.model_id = input.config->id;
  layout.model_name = input.config->name;
  layout.devices = input.devices;
  layout.objective = input.objective;
  for (const CandidateLayout& candidate : candidates) layout.table.push_back(cost_candidate(input, candidate, costs));
  const db::LayoutRow* best = best_row(layout.table);
  if (best == nullptr) fail_nothing_fits(input, layout.table);
  layout.tp = best->tp;
  layout.dp = best->dp;
  return layout;
}

}  // namespace wavetune::search
