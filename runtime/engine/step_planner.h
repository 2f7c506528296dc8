// From a step's shape to the list of launches, with every address and parameter filled in. Plans are kept, so that a
// decode step of a shape that was seen before costs the host one call for each launch.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/program.h"
#include "runtime/comm/communicator.h"
#include "runtime/engine/launch_counts.h"
#include "runtime/engine/rank_memory.h"
#include "runtime/engine/step_graph.h"
#include "runtime/kernels/kernel_cache.h"

namespace wavetune::engine {

struct PlannedLaunch {
  hipFunction_t function = nullptr;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t lds_bytes = 0;
  std::vector<std::byte> params;
  int call = -1;  ///< index into Program::calls; -1 for the sampler
};

/// What the ranks must have exchanged before a segment's launches.
struct PlannedExchange {
  std::vector<void*> partials;  ///< one for each rank
  std::size_t bytes = 0;
};

/// Launches between two meetings of the ranks.
struct Segment {
  std::optional<PlannedExchange> before;
  std::vector<std::vector<PlannedLaunch>> launches;  ///< [rank]
};

struct StepPlan {
  std::vector<Segment> segments;
  std::vector<PlannedLaunch> sampler;  ///< on rank 0, after the logits are gathered; empty when nothing is sampled
  LaunchCounts counts;                 ///< of rank 0
  /// The executor's: how often the plan was launched kernel by kernel, and from the second time on its graph.
  std::int64_t launched = 0;
  std::optional<StepGraph> graph;
};

/// Where the sampler finds its operands on rank 0.
struct SamplerAddresses {
  void* logits = nullptr;  ///< f32 [ranks, samples, vocab / ranks]
  void* temperature = nullptr;
  void* top_p = nullptr;
  void* uniform = nullptr;
  void* token = nullptr;
};

struct PlannerLimits {
  std::int64_t max_tokens = 0;  ///< of a step
  std::int64_t max_samples = 0;
  std::size_t kept_plans = 256;
};

/// One tensor-parallel group. Programs and memories are one for each rank and outlive the planner. Not thread-safe.
class StepPlanner {
 public:
  StepPlanner(const hip::Api& api, kernels::KernelCache& kernels, std::span<const model::Program> programs,
              std::span<const RankMemory> memories, const comm::Communicator& communicator, SamplerAddresses sampler,
              PlannerLimits limits);

  /// Kernels are those of the shape rounded up as in kernels::lookup_shape. The reference is valid until the next call.
  StepPlan& plan(const model::StepShape& shape);

 private:
  struct Kept {
    StepPlan plan;
    std::uint64_t last_used = 0;
  };
  struct Resolved {
    const kernels::LoadedKernel* kernel;
    db::Problem problem;
  };

  StepPlan build(const model::StepShape& shape);
  /// All kernels of a step at once, so that those that Executor::prepare() did not see are compiled in parallel.
  void prepare(const model::StepShape& shape, const model::StepShape& lookup);
  Resolved resolve(const db::Problem& problem, const db::Problem& lookup, std::size_t rank,
                   std::int64_t& workspace_bytes);
  std::vector<templates::View> views(const model::OpCall& call, std::size_t rank, const model::StepShape& shape) const;
  void append(std::vector<PlannedLaunch>& launches, const Resolved& resolved, std::span<const templates::View> operands,
              const templates::Scalars& scalars, std::size_t rank, int call) const;
  std::vector<templates::View> sampler_views(const model::StepShape& shape) const;
  void grow_workspaces(std::int64_t bytes);
  void evict();

  const hip::Api& api_;
  kernels::KernelCache& kernels_;
  std::span<const model::Program> programs_;
  std::span<const RankMemory> memories_;
  const comm::Communicator& communicator_;
  SamplerAddresses sampler_;
  PlannerLimits limits_;
  std::vector<hip::DeviceBuffer> workspaces_;  ///< one for each rank; calls of a stream use it one after the other
  std::map<std::array<std::int64_t, 3>, Kept> kept_;
  std::uint64_t uses_ = 0;
};

}  // namespace wavetune::engine
