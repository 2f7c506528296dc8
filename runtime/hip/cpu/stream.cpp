#include "runtime/hip/cpu/stream.h"

#include <algorithm>
#include <utility>

namespace wavetune::hip::cpu {

void Recording::complete() {
  time_ = std::chrono::steady_clock::now();
  done_.store(true, std::memory_order_release);
  done_.notify_all();
}

Stream::Stream(Device& device, unsigned flags, bool is_default)
    : device_(device), flags_(flags), is_default_(is_default), thread_([this] { work(); }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void Stream::enqueue(Operation operation) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(operation));
    ++enqueued_;
  }
  more_.notify_one();
}

std::shared_ptr<Recording> Stream::record() {
  auto recording = std::make_shared<Recording>();
  enqueue([recording] { recording->complete(); });
  return recording;
}

void Stream::wait_for(std::shared_ptr<const Recording> recording) {
  enqueue([recording = std::move(recording)] { recording->wait(); });
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  const std::uint64_t target = enqueued_;
  while (completed_ < target) {
    wake_at_ = std::min(wake_at_, target);
    done_.wait(lock);
  }
}

bool Stream::idle() {
  const std::lock_guard lock(mutex_);
  return completed_ == enqueued_;
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const Operation operation = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      operation();
    }
    lock.lock();
    ++completed_;
    if (completed_ >= wake_at_) {
      wake_at_ = never;
      done_.notify_all();
    }
  }
}

void Event::set(std::shared_ptr<Recording> recording) {
  const std::lock_guard lock(mutex_);
  recording_ = std::move(recording);
  captured_.reset();
}

std::shared_ptr<Recording> Event::recording() const {
  const std::lock_guard lock(mutex_);
  return recording_;
}

void Event::set_captured(std::shared_ptr<Captured> captured) {
  const std::lock_guard lock(mutex_);
  captured_ = std::move(captured);
}

std::shared_ptr<Event::Captured> Event::captured() const {
  const std::lock_guard lock(mutex_);
  return captured_;
}

}  // namespace wavetune::hip::cpu
