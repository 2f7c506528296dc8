#include "runtime/engine/engine_factory.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "db/base/error.h"
#include "model/safetensors.h"
#include "runtime/engine/layout_choice.h"
#include "runtime/engine/replica_sizes.h"
#include "runtime/engine/replicated_engine.h"
#include "runtime/engine/tuning_source.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/weight_orders.h"

namespace wavetune::engine {
namespace {

/// Engine and what it runs on, in the order of construction: replicas go first at the end.
class OwningEngine final : public Engine {
 public:
  OwningEngine(std::shared_ptr<const hip::Provider> provider, std::unique_ptr<jit::CompileService> compiler,
               std::unique_ptr<kernels::KernelCache> kernel_cache, std::unique_ptr<Engine> engine)
      : provider_(std::move(provider)),
        compiler_(std::move(compiler)),
        kernel_cache_(std::move(kernel_cache)),
        engine_(std::move(engine)) {}

  RequestId submit(std::vector<std::int32_t> prompt, SamplingParams params,
                   std::function<void(const TokenEvent&)> on_event) override {
    return engine_->submit(std::move(prompt), params, std::move(on_event));
  }
  void cancel(RequestId id) override { engine_->cancel(id); }
  EngineStats stats() const override { return engine_->stats(); }
  std::int64_t max_context() const override { return engine_->max_context(); }

 private:
  std::shared_ptr<const hip::Provider> provider_;
  std::unique_ptr<jit::CompileService> compiler_;
  std::unique_ptr<kernels::KernelCache> kernel_cache_;
  std::unique_ptr<Engine> engine_;
};

void refuse_untuned(const kernels::Coverage& coverage) {
  constexpr std::size_t shown = 20;
  const std::size_t count = std::min(coverage.untuned.size(), shown);
  const std::vector<std::string> listed(coverage.untuned.begin(),
                                        coverage.untuned.begin() + static_cast<std::ptrdiff_t>(count));
  fail(ErrorKind::incompatible,
       "--require-tuned: {} of {} operator shapes are untuned: {}{}; run `wavetune tune` first", coverage.fallback,
       coverage.total(), fmt::join(listed, " "), count < coverage.untuned.size() ? " ..." : "");
}

void refuse_stale(const TuningSource& tuning) {
  fail(ErrorKind::incompatible,
       "--require-tuned: {} winners of {} were made with other kernel sources than this wavetune's, so that their code "
       "cannot be used; serve with the wavetune that exported it, or export it again",
       tuning.stale, tuning.description);
}

kernels::UntunedPolicy policy_of(const EngineOptions& options, const TuningSource& tuning) {
  if (options.require_tuned) return kernels::UntunedPolicy::refuse;
  return tuning.description.empty() ? kernels::UntunedPolicy::quiet : kernels::UntunedPolicy::warn;
}

std::unique_ptr<Replica> make_replica(int index, const std::shared_ptr<const hip::Provider>& provider,
                                      kernels::KernelCache& kernel_cache, CreatedEngine& created,
                                      const model::Checkpoint& checkpoint, const ReplicaSizes& sizes) {
  ExecutorOptions options = sizes.executor;
  options.devices.clear();
  for (int rank = 0; rank < created.layout.tp; ++rank) options.devices.push_back(index * created.layout.tp + rank);
  auto executor = std::make_unique<Executor>(provider, kernel_cache, created.config, checkpoint, options);
  executor->prepare();
  created.decode_launches = executor->decode_launches();
  created.graphs = executor->uses_graphs();
  const SchedulerOptions scheduler{options.max_step_tokens, options.max_sequences, options.page_size, options.pages};
  return std::make_unique<Replica>(std::move(executor),
                                   ReplicaOptions{scheduler, sizes.max_context, created.config.eos_token_ids});
}

}  // namespace

CreatedEngine create_engine(const EngineOptions& options) {
  check_sizes(options);
  CreatedEngine created;
  created.config = model::load_config(options.model_directory);
  std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec(options.device));
  const hip::DeviceInfo& device = provider->devices().front();
  const int device_count = static_cast<int>(provider->devices().size());
  created.device_name = device.name;

  const db::Environment environment = hip::environment_of(*provider, device);
  TuningSource tuning = open_tuning(options.database, environment, created.config.id, device_count);
  if (options.require_tuned && tuning.stale > 0) refuse_stale(tuning);
  created.tuning = tuning.description;
  created.layout = choose_layout(options, tuning.layout, device_count);

  const ReplicaSizes sizes = size_replica(options, created.config, *provider, created.layout);
  const ExecutorOptions& executor = sizes.executor;
  created.cache_tokens = executor.pages * executor.page_size;
  auto compiler = std::make_unique<jit::CompileService>(options.compiler);
  auto kernel_cache = std::make_unique<kernels::KernelCache>(provider, *compiler, std::move(tuning.winners),
                                                             policy_of(options, tuning), std::move(tuning.code));
  const model::Checkpoint checkpoint = model::Checkpoint::open(options.model_directory);
  // How the weights will lie decides which winners count.
  kernels::settle_weight_orders(sizes.program, device.limits, *kernel_cache);
  created.coverage = kernels::coverage_of(
      kernel_cache->winners(), kernels::serving_problems(sizes.program, sizes.lookup_shapes()), device.limits);
  if (options.require_tuned && created.coverage.fallback > 0) refuse_untuned(created.coverage);

  std::vector<std::unique_ptr<Replica>> replicas;
  for (int index = 0; index < created.layout.dp; ++index) {
    replicas.push_back(make_replica(index, provider, *kernel_cache, created, checkpoint, sizes));
  }
  auto engine = std::make_unique<ReplicatedEngine>(
      std::move(replicas), ReplicatedEngine::Limits{sizes.max_context, created.config.vocab_size},
      [cache = kernel_cache.get()] { return cache->counters(); });
  created.engine = std::make_unique<OwningEngine>(std::move(provider), std::move(compiler), std::move(kernel_cache),
                                                  std::move(engine));
  return created;
}

}  // namespace wavetune::engine
