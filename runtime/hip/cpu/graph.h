// Stream capture and graphs. A graph is the list of captured operations in the order of the capture, which is one of
// the orders that its dependencies allow; launching it executes them one after the other.
#pragma once

#include <hip/hip_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/hip/cpu/stream.h"

namespace wavetune::hip::cpu {

using OperationList = std::vector<Operation>;

struct Graph {
  std::shared_ptr<const OperationList> operations;
};
struct GraphExec {
  std::shared_ptr<const OperationList> operations;
};

/// One hipStreamBeginCapture ... hipStreamEndCapture, over all streams that events drew into it.
class Capture {
 public:
  /// How many of each stream's captured operations something is ordered behind.
  using Clock = std::map<const Stream*, std::size_t>;

  Capture(Stream& origin, hipStreamCaptureMode mode)
      : origin_(&origin), mode_(mode), thread_(std::this_thread::get_id()) {
    clocks_[&origin];
  }

  const Stream* origin() const { return origin_; }
  std::thread::id thread() const { return thread_; }
  hipStreamCaptureMode mode() const { return mode_; }
  void add(const Stream& stream, Operation operation);
  Clock clock(const Stream& stream);
  /// `stream` is from here on ordered behind `clock`, and part of the capture.
  void join(Stream& stream, const Clock& clock);
  void invalidate();
  bool invalid();

  /// Releases all streams. hipErrorStreamCaptureUnjoined when an operation of another stream is not behind the origin's
  /// last, hipErrorStreamCaptureInvalidated when a forbidden call was made.
  hipError_t end(std::shared_ptr<Graph>& graph);

 private:
  const Stream* origin_;
  const hipStreamCaptureMode mode_;
  const std::thread::id thread_;
  std::mutex mutex_;
  OperationList operations_;
  std::map<const Stream*, Clock> clocks_;
  std::vector<Stream*> joined_;
  bool invalid_ = false;
};

struct Event::Captured {
  std::shared_ptr<Capture> capture;
  Capture::Clock clock;
};

/// The captures that are going on, so that calls which would break them can be refused.
class Captures {
 public:
  static Captures& get();
  std::shared_ptr<Capture> begin(Stream& stream, hipStreamCaptureMode mode);
  void end(const std::shared_ptr<Capture>& capture);
  /// A call that may not be made while capturing (allocation, synchronisation of the device): invalidates the captures
  /// that forbid it and returns true.
  bool forbids_unsafe_call();
  std::shared_ptr<Capture> of(const Stream& stream);
  void set(Stream& stream, std::shared_ptr<Capture> capture);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Capture>> active_;
  std::atomic<int> count_{0};  ///< of active_, so that the usual case takes no lock
};

}  // namespace wavetune::hip::cpu
