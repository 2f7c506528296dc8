// Runs steps of the forward program on one tensor-parallel group of devices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/safetensors.h"
#include "runtime/engine/pinned_buffer.h"
#include "runtime/engine/rank_memory.h"
#include "runtime/engine/step_input.h"
#include "runtime/engine/step_planner.h"
#include "runtime/hip/provider.h"
#include "templates/host_tensor.h"

namespace wavetune::engine {

/// Whether steps are replayed from graphs. A shape's first step is launched kernel by kernel in any case.
enum class Graphs {
  automatic,  ///< on GPUs; on the CPU for one rank, since a graph runs its ranks there one after the other
  on,
  off,
};

struct ExecutorOptions {
  std::vector<int> devices{0};  ///< one for each rank
  std::int64_t max_step_tokens = 256;
  std::int64_t max_samples = 32;    ///< rows of logits in a step
  std::int64_t max_sequences = 32;  ///< rows of the block table
  std::int64_t max_context = 4096;
  std::int64_t page_size = 16;
  std::int64_t pages = 1024;
  InitialContents contents = InitialContents::untouched;
  Graphs graphs = Graphs::automatic;
};

/// What became of the last step.
struct StepReport {
  bool from_graph = false;
  LaunchCounts launches;
};

/// Looks on while a step runs: called around each call's launches on rank 0, whose stream is given.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// `call` is an index into Program::calls; -1 for the sampler. A call of several kernels is announced for each.
  virtual void before(int call, hipStream_t stream) = 0;
  virtual void after(int call, hipStream_t stream) = 0;
};

/// Not thread-safe: one thread drives it. After an exception from step() the executor can be used again; the cache
/// contents of the sequences of that step are undefined.
class Executor {
 public:
  /// Allocates everything and loads the weights. `kernels` outlives the executor. Throws Error usage (tp), bad_data
  /// (checkpoint), device (out of memory; a copy failed).
  Executor(std::shared_ptr<const hip::Provider> provider, kernels::KernelCache& kernels,
           const model::ModelConfig& config, const model::Checkpoint& checkpoint, const ExecutorOptions& options);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  /// Compiles and loads the kernels of all shapes that steps can have.
  void prepare();

  /// Runs one step and waits for it. One token id for each sample row. Throws Error usage when the step is larger than
  /// the executor was made for, device when a call fails.
  /// With an observer nothing comes from a graph.
  std::vector<std::int32_t> step(const StepInput& input, StepObserver* observer = nullptr);
  const StepReport& last_step() const { return report_; }
  /// Of a step in which one sequence with a short context decodes one token.
  LaunchCounts decode_launches();
  bool uses_graphs() const { return use_graphs_; }

  /// Logits of the last step: [samples, vocab].
  std::vector<float> logits() const;

  /// A buffer of rank 0 as it is now, for a step of `shape`. Waits for rank 0's stream.
  templates::HostTensor read(int buffer, const model::StepShape& shape) const;
  /// Overwrites the beginning of a buffer of rank 0, after what its stream was given so far.
  void write(int buffer, const templates::HostTensor& content);

  /// Rank 0's; calls and shapes are the same on every rank.
  const model::Program& program() const { return programs_.front(); }
  const ExecutorOptions& options() const { return options_; }
  /// The shape with which a step's problems are made.
  model::StepShape shape_of(const StepInput& input) const;

 private:
  void check_fits(const StepInput& input) const;
  void stage_inputs(const StepInput& input);
  void update_block_table(const StepInput& input);
  bool capture(StepPlan& plan, const model::StepShape& shape);
  void enqueue(const StepPlan& plan, const model::StepShape& shape, StepObserver* observer);
  void enqueue_input_copies(const model::StepShape& shape);
  void launch(const std::vector<PlannedLaunch>& launches, std::size_t rank, StepObserver* observer);
  void gather_logits(const model::StepShape& shape);
  void wait_for_all();
  void settle_after_error() noexcept;
  std::int64_t shard() const;

  std::shared_ptr<const hip::Provider> provider_;
  const hip::Api& api_;
  kernels::KernelCache& kernels_;
  ExecutorOptions options_;
  std::vector<std::int64_t> context_buckets_;
  std::vector<model::Program> programs_;  ///< one for each rank
  bool use_graphs_ = false;
  std::vector<hip::Stream> streams_;
  std::vector<comm::Rank> ranks_;  ///< devices and streams
  std::vector<RankMemory> memories_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::unique_ptr<StepPlanner> planner_;

  PinnedBuffer host_inputs_;       ///< the input block, as on every rank
  PinnedBuffer host_block_table_;  ///< the whole table
  PinnedBuffer host_sampling_;     ///< temperature, top_p, uniform: [3, max_samples]
  PinnedBuffer host_tokens_;
  hip::DeviceBuffer
      gathered_logits_;         ///< on rank 0: f32 [ranks, samples, vocab / ranks], packed for the step's samples
  hip::DeviceBuffer sampling_;  ///< on rank 0
  hip::DeviceBuffer tokens_;    ///< on rank 0
  std::int64_t last_samples_ = 0;
  StepReport report_;
};

}  // namespace wavetune::engine
