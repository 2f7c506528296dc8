// An engine that says what a test tells it to say.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "runtime/engine/engine.h"

namespace wavetune::server {

class FakeEngine final : public engine::Engine {
 public:
  struct Submitted {
    std::vector<std::int32_t> prompt;
    engine::SamplingParams params;
  };

  ~FakeEngine() override;

  engine::RequestId submit(std::vector<std::int32_t> prompt, engine::SamplingParams params,
                           std::function<void(const engine::TokenEvent&)> on_event) override;
  void cancel(engine::RequestId id) override;
  engine::EngineStats stats() const override;
  std::int64_t max_context() const override { return 1000; }

  /// Every request gets these events. When the last one has no finish reason, it is repeated until the request is
  /// cancelled.
  void set_script(std::vector<engine::TokenEvent> script, std::chrono::milliseconds pause = {});

  std::vector<Submitted> submitted() const;
  /// Waits until `count` requests have been cancelled; false after 10 s.
  bool wait_for_cancelled(size_t count) const;
  /// While set, requests get no event (cancelling ends them all the same).
  std::atomic<bool> held{false};
  /// While set, stats() does not return.
  std::atomic<bool> stats_hang{false};

 private:
  void emit(engine::RequestId id, const std::vector<engine::TokenEvent>& script, std::chrono::milliseconds pause,
            const std::function<void(const engine::TokenEvent&)>& on_event);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<engine::TokenEvent> script_;
  std::chrono::milliseconds pause_{};
  std::vector<Submitted> submitted_;
  std::set<engine::RequestId> cancelled_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// One event for each token of `text`, then one that finishes (with no token).
std::vector<engine::TokenEvent> script_of(const model::Tokenizer& tokenizer, const std::string& text,
                                          engine::FinishReason finish = engine::FinishReason::stop);

}  // namespace wavetune::server
