// Serves token sequences: requests in, tokens out, batched continuously over one or more data-parallel replicas.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wavetune::engine {

struct SamplingParams {
  float temperature = 1.0f;  ///< 0: greedy
  float top_p = 1.0f;        ///< in (0, 1]
  std::uint64_t seed = 0;    ///< same seed, prompt and parameters give the same tokens
  std::int64_t max_tokens = 16;
  bool ignore_eos = false;
};

enum class FinishReason { none, stop, length, cancelled, error };

/// One step of one request. `tokens` holds what is new (an end-of-sequence token is not passed on).
struct TokenEvent {
  std::vector<std::int32_t> tokens;
  FinishReason finish = FinishReason::none;  ///< not `none` in the last event
  std::int32_t stop_token = -1;              ///< the end-of-sequence token that ended it, else -1
  std::string error;                         ///< when finish is error
};

using RequestId = std::uint64_t;

struct EngineStats {
  std::int64_t running = 0;  ///< requests in the batch
  std::int64_t waiting = 0;
  std::int64_t prompt_tokens = 0;  ///< total since start
  std::int64_t generation_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t steps = 0;
  std::int64_t graph_steps = 0;     ///< of them replayed from a graph, with no host work between their kernels
  std::int64_t step_launches = 0;   ///< kernels of the last decode step, on one device
  std::int64_t layer_launches = 0;  ///< the most of them in one layer
  double cache_usage = 0;           ///< pages in use / pages, all replicas
  /// Distinct operator shapes run so far, by match (kernels::Match).
  std::int64_t lookups_exact = 0, lookups_bucket = 0, lookups_nearest = 0, lookups_fallback = 0;
};

/// Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Queues a request on the least loaded replica. `on_event` is called from the engine's thread, in order, and must
  /// not block; after an event with a finish reason it is not called again. Throws Error usage when the prompt is
  /// empty, has an id outside the vocabulary, or is too long (the message gives limit and length).
  virtual RequestId submit(std::vector<std::int32_t> prompt, SamplingParams params,
                           std::function<void(const TokenEvent&)> on_event) = 0;
  /// Ends a request early (its last event has FinishReason::cancelled). Unknown ids are ignored.
  virtual void cancel(RequestId id) = 0;
  virtual EngineStats stats() const = 0;
  virtual std::int64_t max_context() const = 0;
};

}  // namespace wavetune::engine
