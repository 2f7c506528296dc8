#include "runtime/engine/step_planner.h"

#include <algorithm>

#include "db/base/error.h"
#include "runtime/kernels/coverage.h"

namespace wavetune::engine {
namespace {

bool is_sampling(const model::OpCall& call) {
  return std::any_of(call.dims.begin(), call.dims.end(),
                     [](const auto& dim) { return dim.second.symbol == model::Symbol::samples; });
}

std::size_t all_reduce_bytes(const db::Problem& problem) {
  const templates::DType type = templates::split_dtype(problem.dtype).input;
  return static_cast<std::size_t>(problem.dim("m") * problem.dim("n")) * templates::size_of(type);
}

}  // namespace

StepPlanner::StepPlanner(const hip::Api& api, kernels::KernelCache& kernels, std::span<const model::Program> programs,
                         std::span<const RankMemory> memories, const comm::Communicator& communicator,
                         SamplerAddresses sampler, PlannerLimits limits)
    : api_(api),
      kernels_(kernels),
      programs_(programs),
      memories_(memories),
      communicator_(communicator),
      sampler_(sampler),
      limits_(limits),
      workspaces_(programs.size()) {}

StepPlan& StepPlanner::plan(const model::StepShape& shape) {
  const std::array<std::int64_t, 3> key{shape.tokens, shape.samples, shape.context};
  auto entry = kept_.find(key);
  if (entry == kept_.end()) {
    if (kept_.size() >= limits_.kept_plans) evict();
    StepPlan built = build(shape);  // before emplace: growing the workspace empties kept_
    entry = kept_.emplace(key, Kept{std::move(built), 0}).first;
  }
  entry->second.last_used = ++uses_;
  return entry->second.plan;
}

StepPlan StepPlanner::build(const model::StepShape& shape) {
  const model::StepShape lookup = kernels::lookup_shape(shape, limits_.max_tokens, limits_.max_samples);
  const std::size_t ranks = programs_.size();
  const std::vector<model::OpCall>& calls = programs_[0].calls;  // the same on every rank

  prepare(shape, lookup);
  std::int64_t workspace_bytes = 0;
  std::vector<std::vector<Resolved>> resolved(ranks);
  std::vector<int> indices;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (shape.samples == 0 && is_sampling(calls[i])) continue;
    indices.push_back(static_cast<int>(i));
    const db::Problem problem = calls[i].problem(shape), rounded = calls[i].problem(lookup);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      resolved[rank].push_back(resolve(problem, rounded, rank, workspace_bytes));
    }
  }
  std::optional<Resolved> sampler;
  if (shape.samples > 0) {
    sampler = resolve(kernels::sampler_problem(programs_[0], shape.samples),
                      kernels::sampler_problem(programs_[0], lookup.samples), 0, workspace_bytes);
  }
  grow_workspaces(workspace_bytes);

  StepPlan plan;
  plan.segments.push_back({std::nullopt, std::vector<std::vector<PlannedLaunch>>(ranks)});
  for (std::size_t position = 0; position < indices.size(); ++position) {
    const int index = indices[position];
    const model::OpCall& call = calls[static_cast<std::size_t>(index)];
    if (call.op == "all_reduce") {
      PlannedExchange exchange{{}, all_reduce_bytes(resolved[0][position].problem)};
      for (const RankMemory& memory : memories_) exchange.partials.push_back(memory.view(call.operands[0], shape).data);
      plan.segments.push_back({std::move(exchange), std::vector<std::vector<PlannedLaunch>>(ranks)});
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      append(plan.segments.back().launches[rank], resolved[rank][position], views(call, rank, shape), call.scalars,
             rank, index);
    }
  }
  if (sampler) append(plan.sampler, *sampler, sampler_views(shape), {}, 0, -1);
  std::vector<int> launched;
  for (const Segment& segment : plan.segments) {
    for (const PlannedLaunch& launch : segment.launches.front()) launched.push_back(launch.call);
  }
  for (const PlannedLaunch& launch : plan.sampler) launched.push_back(launch.call);
  plan.counts = count_launches(launched, programs_[0]);
  return plan;
}

void StepPlanner::prepare(const model::StepShape& shape, const model::StepShape& lookup) {
  std::vector<db::Problem> problems;
  for (const model::OpCall& call : programs_[0].calls) {
    if (shape.samples > 0 || !is_sampling(call)) problems.push_back(call.problem(lookup));
  }
  if (shape.samples > 0) problems.push_back(kernels::sampler_problem(programs_[0], lookup.samples));
  std::vector<int> devices;
  for (const RankMemory& memory : memories_) devices.push_back(memory.device());
  kernels_.prepare(problems, devices);
}

StepPlanner::Resolved StepPlanner::resolve(const db::Problem& problem, const db::Problem& lookup, std::size_t rank,
                                           std::int64_t& workspace_bytes) {
  const kernels::LoadedKernel& kernel = kernels_.get(problem, lookup, memories_[rank].device());
  workspace_bytes = std::max(workspace_bytes, kernel.op->workspace_bytes(problem, kernel.choice.config));
  return {&kernel, problem};
}

std::vector<templates::View> StepPlanner::views(const model::OpCall& call, std::size_t rank,
                                                const model::StepShape& shape) const {
  std::vector<templates::View> result;
  if (call.op == "all_reduce") {
    // The program names the partial sum once; the kernel reads every rank's.
    for (std::size_t owner = 0; owner < memories_.size(); ++owner) {
      templates::View view = memories_[owner].view(call.operands[0], shape);
      view.data = communicator_.readable_address(static_cast<int>(rank), static_cast<int>(owner), view.data);
      result.push_back(view);
    }
    result.push_back(memories_[rank].view(call.operands[1], shape));
    return result;
  }
  for (const model::Ref& ref : call.operands) result.push_back(memories_[rank].view(ref, shape));
  return result;
}

void StepPlanner::append(std::vector<PlannedLaunch>& launches, const Resolved& resolved,
                         std::span<const templates::View> operands, const templates::Scalars& scalars, std::size_t rank,
                         int call) const {
  const kernels::LoadedKernel& kernel = *resolved.kernel;
  const templates::Call arguments{&resolved.problem, operands, &scalars, workspaces_[rank].get()};
  for (templates::Launch& launch : kernel.op->launches(kernel.choice.config, arguments)) {
    launches.push_back({kernel.module->function(launch.kernel), launch.grid, launch.block, launch.lds_bytes,
                        std::move(launch.params), call});
  }
}

std::vector<templates::View> StepPlanner::sampler_views(const model::StepShape& shape) const {
  const std::int64_t shard = programs_[0].config.vocab_size / static_cast<std::int64_t>(programs_.size());
  return {{sampler_.logits, shard, shard * shape.samples},
          {sampler_.temperature, shape.samples, 0},
          {sampler_.top_p, shape.samples, 0},
          {sampler_.uniform, shape.samples, 0},
          {sampler_.token, shape.samples, 0}};
}

void StepPlanner::grow_workspaces(std::int64_t bytes) {
  if (static_cast<std::size_t>(bytes) <= workspaces_[0].bytes()) return;
  // Kept plans hold the old addresses. Every step ends with a wait for all ranks, so nothing uses them any more.
  kept_.clear();
  for (std::size_t rank = 0; rank < workspaces_.size(); ++rank) {
    hip::check(api_, api_.hipSetDevice(memories_[rank].device()), "hipSetDevice");
    workspaces_[rank].reset();
    workspaces_[rank] = hip::DeviceBuffer(api_, static_cast<std::size_t>(bytes));
  }
}

void StepPlanner::evict() {
  const auto oldest = std::min_element(
      kept_.begin(), kept_.end(), [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
  kept_.erase(oldest);
}

}  // namespace wavetune::engine
