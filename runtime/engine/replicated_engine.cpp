#include "runtime/engine/replicated_engine.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"

namespace wavetune::engine {
namespace {

void check_request(const std::vector<std::int32_t>& prompt, const SamplingParams& params,
                   const ReplicatedEngine::Limits& limits) {
  if (prompt.empty()) fail(ErrorKind::usage, "prompt: it has no tokens");
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length >= limits.max_context) {
    fail(ErrorKind::usage, "prompt: {} tokens, but at most {} fit with one new token (context limit {})", length,
         limits.max_context - 1, limits.max_context);
  }
  for (std::int32_t token : prompt) {
    if (token < 0 || token >= limits.vocab_size) {
      fail(ErrorKind::usage, "prompt: token id {} is outside the vocabulary of {}", token, limits.vocab_size);
    }
  }
  if (params.max_tokens < 1) fail(ErrorKind::usage, "max_tokens: {} must be at least 1", params.max_tokens);
  if (!std::isfinite(params.temperature) || params.temperature < 0) {
    fail(ErrorKind::usage, "temperature: {} must be a number >= 0", params.temperature);
  }
  if (!(params.top_p > 0 && params.top_p <= 1)) fail(ErrorKind::usage, "top_p: {} must be in (0, 1]", params.top_p);
}

}  // namespace

ReplicatedEngine::ReplicatedEngine(std::vector<std::unique_ptr<Replica>> replicas, Limits limits,
                                   std::function<kernels::LookupCounters()> counters)
    : limits_(limits), counters_(std::move(counters)), replicas_(std::move(replicas)) {}

RequestId ReplicatedEngine::submit(std::vector<std::int32_t> prompt, SamplingParams params,
                                   std::function<void(const TokenEvent&)> on_event) {
  check_request(prompt, params, limits_);
  const auto least_loaded = std::min_element(replicas_.begin(), replicas_.end(),
                                             [](const auto& a, const auto& b) { return a->load() < b->load(); });
  // The id says which replica has the request, so that cancel() needs no table.
  const auto replica = static_cast<RequestId>(least_loaded - replicas_.begin());
  auto sequence = std::make_unique<Sequence>();
  sequence->id = next_.fetch_add(1) * replicas_.size() + replica;
  sequence->prompt_tokens = static_cast<std::int64_t>(prompt.size());
  sequence->tokens = std::move(prompt);
  sequence->params = params;
  const RequestId id = sequence->id;
  (*least_loaded)->submit(std::move(sequence), std::move(on_event));
  return id;
}

void ReplicatedEngine::cancel(RequestId id) { replicas_[id % replicas_.size()]->cancel(id); }

EngineStats ReplicatedEngine::stats() const {
  EngineStats total;
  for (const auto& replica : replicas_) {
    const EngineStats one = replica->stats();
    total.running += one.running;
    total.waiting += one.waiting;
    total.prompt_tokens += one.prompt_tokens;
    total.generation_tokens += one.generation_tokens;
    total.preemptions += one.preemptions;
    total.steps += one.steps;
    total.graph_steps += one.graph_steps;
    total.step_launches = std::max(total.step_launches, one.step_launches);
    total.layer_launches = std::max(total.layer_launches, one.layer_launches);
    total.cache_usage += one.cache_usage / static_cast<double>(replicas_.size());
  }
  const kernels::LookupCounters lookups = counters_();
  total.lookups_exact = lookups.exact;
  total.lookups_bucket = lookups.bucket;
  total.lookups_nearest = lookups.nearest;
  total.lookups_fallback = lookups.fallback;
  return total;
}

}  // namespace wavetune::engine
