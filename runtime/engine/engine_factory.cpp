#include "runtime/engine/engine_factory.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "db/base/error.h"
#include "model/safetensors.h"
#include "runtime/engine/layout_choice.h"
#include "runtime/engine/replicated_engine.h"
#include "runtime/engine/tuning_source.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/weight_orders.h"

namespace wavetune::engine {
namespace {

constexpr std::int64_t default_max_context = 8192;
/// Part of the memory that is free at start which weights, activations and cache may fill. CPU "devices" share the
/// host's memory with everything else on the machine.
constexpr double device_memory_share = 0.85;
constexpr double host_memory_share = 0.5;

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

void check_positive(std::int64_t value, std::string_view option) {
  if (value < 1) fail(ErrorKind::usage, "{} {}: must be at least 1", option, value);
}

void check_options(const EngineOptions& options) {
  check_positive(options.max_sequences, "--max-sequences");
  check_positive(options.max_step_tokens, "--max-step-tokens");
  check_positive(options.page_size, "--page-size");
  if (options.max_context < 0) fail(ErrorKind::usage, "--max-context {}: must be at least 2", options.max_context);
  if (options.cache_tokens < 0) fail(ErrorKind::usage, "--cache-tokens {}: must be at least 1", options.cache_tokens);
}

std::size_t smallest_free_memory(const hip::Provider& provider, int devices) {
  const hip::Api& api = provider.api();
  std::size_t smallest = 0;
  for (int device = 0; device < devices; ++device) {
    std::size_t free = 0, total = 0;
    hip::check(api, api.hipSetDevice(device), "hipSetDevice");
    hip::check(api, api.hipMemGetInfo(&free, &total), "hipMemGetInfo");
    smallest = device == 0 ? free : std::min(smallest, free);
  }
  return smallest;
}

/// Tokens that fit beside weights and activations; never more than all sequences at full length can use.
std::int64_t cache_tokens_that_fit(const hip::Provider& provider, const LayoutInfo& layout,
                                   const model::Program& program, const ExecutorOptions& executor) {
  const int used = layout.tp * layout.dp;
  double budget = static_cast<double>(smallest_free_memory(provider, used));
  budget *= provider.kind() == hip::ProviderKind::cpu ? host_memory_share / used : device_memory_share;
  const std::int64_t resident =
      program.weight_bytes() +
      program.activation_bytes({executor.max_step_tokens, executor.max_samples, executor.max_context, 0});
  const auto tokens = static_cast<std::int64_t>((budget - static_cast<double>(resident)) /
                                                static_cast<double>(program.cache_bytes_per_token()));
  if (tokens < executor.page_size) {
    fail(ErrorKind::device,
         "no memory for the cache: {:.1f} GB may be used on each device, weights and activations take {:.1f} GB; use "
         "more "
         "devices (--tp), or lower --max-step-tokens or --max-context",
         budget / 1e9, static_cast<double>(resident) / 1e9);
  }
  return std::min(tokens, executor.max_sequences * executor.max_context);
}

void refuse_untuned(const kernels::Coverage& coverage) {
  constexpr std::size_t shown = 20;
  const std::size_t count = std::min(coverage.untuned.size(), shown);
  const std::vector<std::string> listed(coverage.untuned.begin(),
                                        coverage.untuned.begin() + static_cast<std::ptrdiff_t>(count));
  fail(ErrorKind::incompatible,
       "--require-tuned: {} of {} operator shapes are untuned: {}{}; run `wavetune tune` first", coverage.fallback,
       coverage.total(), fmt::join(listed, " "), count < coverage.untuned.size() ? " ..." : "");
}

/// What one replica is made of, for a layout.
struct Sizes {
  ExecutorOptions executor;      ///< without the devices
  std::int64_t max_context = 0;  ///< of a sequence: what the model, the options and the cache allow
  model::Program program;        ///< rank 0's
};

Sizes size_replica(const EngineOptions& options, const model::ModelConfig& config, const hip::Provider& provider,
                   const LayoutInfo& layout) {
  Sizes sizes;
  ExecutorOptions& executor = sizes.executor;
  executor.max_step_tokens = options.max_step_tokens;
  executor.max_samples = std::min(options.max_sequences, options.max_step_tokens);
  executor.max_sequences = options.max_sequences;
  executor.page_size = options.page_size;
  executor.graphs = options.graphs;
  const std::int64_t wanted_context = options.max_context > 0 ? options.max_context : default_max_context;
  // Rounded to pages as the executor does, so that the problems below are those that it will look up.
  executor.max_context =
      kernels::context_buckets(options.page_size, std::min(wanted_context, config.max_position_embeddings)).back();
  sizes.program = model::build_program(config, {.tp = layout.tp,
                                                .rank = 0,
                                                .page_size = static_cast<int>(options.page_size),
                                                .max_sequences = options.max_sequences,
                                                .max_context = executor.max_context});
  const std::int64_t cache_tokens = options.cache_tokens > 0
                                        ? options.cache_tokens
                                        : cache_tokens_that_fit(provider, layout, sizes.program, executor);
  executor.pages = (cache_tokens + options.page_size - 1) / options.page_size;
  sizes.max_context = std::min({wanted_context, config.max_position_embeddings, executor.pages * options.page_size});
  return sizes;
}

kernels::UntunedPolicy policy_of(const EngineOptions& options) {
  if (options.require_tuned) return kernels::UntunedPolicy::refuse;
  return options.database ? kernels::UntunedPolicy::warn : kernels::UntunedPolicy::quiet;
}

std::unique_ptr<Replica> make_replica(int index, const std::shared_ptr<const hip::Provider>& provider,
                                      kernels::KernelCache& kernel_cache, CreatedEngine& created,
                                      const model::Checkpoint& checkpoint, const Sizes& sizes) {
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
  check_options(options);
  CreatedEngine created;
  created.config = model::load_config(options.model_directory);
  std::shared_ptr<const hip::Provider> provider = hip::load_provider(hip::parse_device_spec(options.device));
  const hip::DeviceInfo& device = provider->devices().front();
  const int device_count = static_cast<int>(provider->devices().size());
  created.device_name = device.name;

  const db::Environment environment = hip::environment_of(*provider, device);
  TuningSource tuning = open_tuning(options.database, environment, created.config.id, device_count);
  created.tuning = tuning.description;
  created.layout = choose_layout(options, tuning.layout, device_count);

  const Sizes sizes = size_replica(options, created.config, *provider, created.layout);
  const ExecutorOptions& executor = sizes.executor;
  created.cache_tokens = executor.pages * executor.page_size;
  const std::vector<model::StepShape> shapes = kernels::serving_shapes(
      executor.max_step_tokens, executor.max_samples, executor.page_size, executor.max_context, created.cache_tokens);

  auto compiler = std::make_unique<jit::CompileService>(options.compiler);
  auto kernel_cache = std::make_unique<kernels::KernelCache>(provider, *compiler, std::move(tuning.winners),
                                                             policy_of(options), std::move(tuning.code));
  const model::Checkpoint checkpoint = model::Checkpoint::open(options.model_directory);
  // How the weights will lie decides which winners count.
  kernels::settle_weight_orders(sizes.program, device.limits, *kernel_cache);
  created.coverage =
      kernels::coverage_of(kernel_cache->winners(), kernels::serving_problems(sizes.program, shapes), device.limits);
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
