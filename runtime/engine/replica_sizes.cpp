#include "runtime/engine/replica_sizes.h"

#include <algorithm>

#include "db/base/error.h"
#include "runtime/kernels/coverage.h"

namespace wavetune::engine {
namespace {

constexpr std::int64_t default_max_context = 8192;
/// Part of the memory that is free at start which weights, activations and cache may fill. CPU "devices" share the
/// host's memory with everything else on the machine.
constexpr double device_memory_share = 0.85;
constexpr double host_memory_share = 0.5;

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

void check_positive(std::int64_t value, std::string_view option) {
  if (value < 1) fail(ErrorKind::usage, "{} {}: must be at least 1", option, value);
}

}  // namespace

void check_sizes(const EngineOptions& options) {
  check_positive(options.max_sequences, "--max-sequences");
  check_positive(options.max_step_tokens, "--max-step-tokens");
  check_positive(options.page_size, "--page-size");
  if (options.max_context < 0) fail(ErrorKind::usage, "--max-context {}: must be at least 2", options.max_context);
  if (options.cache_tokens < 0) fail(ErrorKind::usage, "--cache-tokens {}: must be at least 1", options.cache_tokens);
}

ReplicaSizes size_replica(const EngineOptions& options, const model::ModelConfig& config, const hip::Provider& provider,
                          const LayoutInfo& layout) {
  ReplicaSizes sizes;
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

std::vector<model::StepShape> ReplicaSizes::lookup_shapes() const {
  return kernels::serving_shapes(executor.max_step_tokens, executor.max_samples, executor.page_size,
                                 executor.max_context, executor.pages * executor.page_size);
}

}  // namespace wavetune::engine
