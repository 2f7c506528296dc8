// Streams and events of the CPU device: each stream is a thread that executes its operations in order.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace wavetune::hip::cpu {

class Capture;
class Device;

using Operation = std::function<void()>;

/// One hipEventRecord: done when the stream has come to it.
class Recording {
 public:
  void complete();
  void wait() const { done_.wait(false, std::memory_order_acquire); }
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Only when done.
  std::chrono::steady_clock::time_point time() const { return time_; }

 private:
  std::atomic<bool> done_{false};
  std::chrono::steady_clock::time_point time_;
};

class Stream {
 public:
  /// `is_default`: the legacy default stream of `device`.
  Stream(Device& device, unsigned flags, bool is_default = false);
  /// Executes what is left, then ends the thread.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }
  bool is_default() const { return is_default_; }
  /// Ordered with the default stream.
  bool is_blocking() const { return (flags_ & hipStreamNonBlocking) == 0; }
  void enqueue(Operation operation);
  /// Enqueues a record, respectively a wait for one of another stream.
  std::shared_ptr<Recording> record();
  void wait_for(std::shared_ptr<const Recording> recording);
  /// Returns when everything enqueued before has been executed.
  void synchronize();
  bool idle();

  /// Stream capture: operations then go to the graph that is being captured (graph.h). Guarded by the capture's own
  /// mutex.
  std::shared_ptr<Capture> capture;

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  void work();

  Device& device_;
  const unsigned flags_;
  const bool is_default_;
  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::deque<Operation> queue_;
  std::uint64_t enqueued_ = 0, completed_ = 0;
  std::uint64_t wake_at_ = never;  ///< smallest count of completed operations that somebody waits for
  bool ending_ = false;
  std::thread thread_;
};

/// A hipEvent_t. Recording it again replaces the recording; who waits for the old one is not disturbed.
class Event {
 public:
  Event(int device, unsigned flags) : device_(device), flags_(flags) {}
  int device() const { return device_; }
  unsigned flags() const { return flags_; }
  void set(std::shared_ptr<Recording> recording);
  std::shared_ptr<Recording> recording() const;

  /// When recorded during a capture: which capture, and what was captured in its stream by then.
  struct Captured;
  void set_captured(std::shared_ptr<Captured> captured);
  std::shared_ptr<Captured> captured() const;

 private:
  const int device_;
  const unsigned flags_;
  mutable std::mutex mutex_;
  std::shared_ptr<Recording> recording_;
  std::shared_ptr<Captured> captured_;
};

}  // namespace wavetune::hip::cpu
