#include "search/layout/step_clock.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/kernels/coverage.h"
#include "runtime/kernels/kernel_table.h"

namespace wavetune::search {
namespace {

/// To the nearest multiple of a 32nd of its power of two; whole numbers up to 64 stay as they are.
std::int64_t rounded(double number) {
  const auto whole = std::max<std::int64_t>(0, std::llround(number));
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(whole)));
  const std::int64_t unit = std::max<std::int64_t>(1, power / 32);
  return (whole + unit / 2) / unit * unit;
}

bool is_collective(const db::Problem& problem) { return problem.op == "all_reduce" || problem.op == "gather_logits"; }

/// The fused kernel that stands for a gate and up projection and what follows it.
db::Problem fused_moe_of(const db::Problem& gate_up) {
  return {"fused_moe",
          gate_up.dtype,
          {{"experts", gate_up.dim("experts")},
           {"k", gate_up.dim("k")},
           {"m", gate_up.dim("m")},
           {"n", gate_up.dim("n")},
           {"topk", gate_up.dim("topk")}}};
}

void take(std::map<db::Problem, int>& problems, const db::Problem& problem, int count) {
  const auto found = problems.find(problem);
  if (found == problems.end()) return;
  found->second -= count;
  if (found->second <= 0) problems.erase(found);
}

/// Replaces expert products by fused ones where only those are known.
void fuse_experts(std::map<db::Problem, int>& problems, const CostTable& costs) {
  std::map<db::Problem, int> fused;
  for (const auto& [problem, count] : std::map(problems)) {
    if (problem.op != "grouped_gemm" || problem.dim_or("swiglu", 0) != 1) continue;
    const db::Problem both = fused_moe_of(problem);
    if (costs.has_winners_of(problem) || !costs.has_references_of(both)) continue;
    const std::int64_t m = problem.dim("m"), hidden = problem.dim("k"), inner = problem.dim("n"),
                       topk = problem.dim("topk");
    take(problems, problem, count);
    take(problems,
         {"grouped_gemm",
          problem.dtype,
          {{"experts", problem.dim("experts")}, {"k", inner}, {"m", m}, {"n", hidden}, {"swiglu", 0}, {"topk", topk}}},
         count);
    take(problems, {"moe_combine", "bf16", {{"m", m}, {"n", hidden}, {"topk", topk}}}, count);
    take(problems, {"quantize", problem.dtype, {{"k", inner}, {"m", m * topk}}}, count);
    fused[both] += count;
  }
  problems.merge(fused);
}

}  // namespace

StepTime& StepTime::operator+=(const StepTime& other) {
  us += other.us;
  for (std::size_t i = 0; i < by_source.size(); ++i) by_source[i] += other.by_source[i];
  collectives_us += other.collectives_us;
  gaps_us += other.gaps_us;
  return *this;
}

StepClock::StepClock(const model::Program& program, ServedFormats formats, const CostTable& costs,
                     StepClockOptions options)
    : program_(program), formats_(std::move(formats)), costs_(costs), options_(options) {}

const StepTime& StepClock::time(const StepWork& work) {
  const Key key{work.decoding, rounded(static_cast<double>(work.prefill_tokens)), work.prefill_samples,
                options_.context > 0 ? options_.context : std::max<std::int64_t>(1, rounded(work.context))};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, compute(key)).first->second;
}

StepTime StepClock::compute(const Key& key) {
  const auto [decoding, prefill_tokens, prefill_samples, context] = key;
  const std::int64_t rows = decoding * rows_of_a_decoding_sequence();
  const model::StepShape shape{rows + prefill_tokens, std::max<std::int64_t>(1, rows + prefill_samples), context,
                               context * std::max<std::int64_t>(1, decoding)};
  StepTime total;
  add_all(total, served_problems(program_, shape, formats_));
  if (options_.draft_tokens > 0 && decoding > 0) add_drafts(total, decoding, context);
  const double gaps = options_.gap_us * static_cast<double>(launches());
  total.us += gaps;
  total.gaps_us += gaps;
  return total;
}

void StepClock::add_all(StepTime& total, std::map<db::Problem, int> problems) {
  fuse_experts(problems, costs_);
  for (const auto& [problem, count] : problems) add(total, problem, count);
}

void StepClock::add(StepTime& total, const db::Problem& problem, int count) {
  db::Problem known_as = problem;
  if (problem.op == "gemm" && problem.dtype == "bf16_f32" && !costs_.has_winners_of(problem) &&
      !costs_.has_references_of(problem)) {
    known_as.dtype = "bf16";
  }
  const ProblemCost cost = costs_.cost(known_as);
  const double us = cost.us * count;
  total.us += us;
  total.by_source[static_cast<std::size_t>(cost.source)] += us;
  if (is_collective(problem)) total.collectives_us += us;
  if (cost.source == CostSource::estimated) estimated_.insert(kernels::family_key(problem));
}

void StepClock::add_drafts(StepTime& total, std::int64_t decoding, std::int64_t context) {
  const model::StepShape shape{decoding, decoding, context, context * decoding};
  const std::string layer = "layers." + std::to_string(program_.config.num_hidden_layers - 1) + ".";
  std::map<db::Problem, int> problems;
  for (const model::OpCall& call : program_.calls) {
    if (!call.label.starts_with(layer) || call.label.find(".indexer.") != std::string::npos) continue;
    problems[call.problem(shape)] += options_.draft_tokens;
  }
  const std::int64_t hidden = program_.config.hidden_size;
  problems[{"gemm", "bf16", {{"batch", 1}, {"k", 2 * hidden}, {"m", decoding}, {"n", hidden}}}] +=
      options_.draft_tokens;
  const std::int64_t vocabulary = program_.config.vocab_size / program_.tp;
  problems[{"gemm", "bf16_f32", {{"batch", 1}, {"k", hidden}, {"m", decoding}, {"n", vocabulary}}}] +=
      options_.draft_tokens;
  problems[kernels::sampler_problem(program_, decoding)] += options_.draft_tokens;
  add_all(total, std::move(problems));
}

}  // namespace wavetune::search
