#include "runtime/server/engine_watch.h"

#include <utility>

namespace wavetune::server {
namespace {

/// Scrapers come every few seconds; the engine counts this as next to nothing.
constexpr std::chrono::milliseconds period{200};

}  // namespace

EngineWatch::EngineWatch(std::shared_ptr<const engine::Engine> engine)
    : engine_(std::move(engine)), thread_([this] { run(); }) {}

EngineWatch::~EngineWatch() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

EngineWatch::Snapshot EngineWatch::latest() const {
  const std::scoped_lock lock(mutex_);
  return {stats_, std::chrono::duration<double>(std::chrono::steady_clock::now() - taken_).count()};
}

void EngineWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const engine::EngineStats stats = engine_->stats();
    lock.lock();
    stats_ = stats;
    taken_ = std::chrono::steady_clock::now();
    wake_.wait_for(lock, period, [this] { return stopping_; });
  }
}

}  // namespace wavetune::server
