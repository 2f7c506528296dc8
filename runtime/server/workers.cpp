#include "runtime/server/workers.h"

#include <utility>

namespace wavetune::server {

Workers::Workers(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

bool Workers::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopped_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

void Workers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  // What came after the last thread had looked is run here: dropping it would strand a serial queue.
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) {
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
  stopped_ = true;
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void SerialQueue::post(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() > 1) return;
  }
  schedule();
}

void SerialQueue::schedule() {
  if (workers_->post([self = shared_from_this()] { self->run_one(); })) return;
  // Work holds its owner, and the owner this queue: what nobody will run must not stay.
  std::deque<std::function<void()>> dropped;
  const std::scoped_lock lock(mutex_);
  dropped.swap(queue_);
}

void SerialQueue::run_one() {
  std::function<void()> work;
  {
    const std::scoped_lock lock(mutex_);
    work = std::move(queue_.front());
  }
  work();
  work = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    queue_.pop_front();
    if (queue_.empty()) return;
  }
  // One piece at a time, so that a long answer does not keep a thread from the others.
  schedule();
}

}  // namespace wavetune::server
