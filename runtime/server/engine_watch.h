// A snapshot of the engine's numbers, taken by a thread of its own, so that /metrics and /health never wait for the
// engine.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/engine/engine.h"

namespace wavetune::server {

class EngineWatch {
 public:
  explicit EngineWatch(std::shared_ptr<const engine::Engine> engine);
  /// Waits for a call of the engine that is under way.
  ~EngineWatch();
  EngineWatch(const EngineWatch&) = delete;
  EngineWatch& operator=(const EngineWatch&) = delete;

  struct Snapshot {
    engine::EngineStats stats;
    double age_seconds = 0;
  };
  Snapshot latest() const;

 private:
  void run();

  std::shared_ptr<const engine::Engine> engine_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  engine::EngineStats stats_;
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

}  // namespace wavetune::server
