#include "runtime/hip/cpu/graph.h"

#include <algorithm>
#include <utility>

namespace wavetune::hip::cpu {

void Capture::add(const Stream& stream, Operation operation) {
  const std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
  ++clocks_[&stream][&stream];
}

Capture::Clock Capture::clock(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  return clocks_[&stream];
}

void Capture::join(Stream& stream, const Clock& clock) {
  const std::lock_guard lock(mutex_);
  if (&stream != origin_ && std::find(joined_.begin(), joined_.end(), &stream) == joined_.end())
    joined_.push_back(&stream);
  Clock& own = clocks_[&stream];
  for (const auto& [other, count] : clock) own[other] = std::max(own[other], count);
}

void Capture::invalidate() {
  const std::lock_guard lock(mutex_);
  invalid_ = true;
}

bool Capture::invalid() {
  const std::lock_guard lock(mutex_);
  return invalid_;
}

hipError_t Capture::end(std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(mutex_);
  for (Stream* stream : joined_) Captures::get().set(*stream, nullptr);
  if (invalid_) return hipErrorStreamCaptureInvalidated;
  Clock& origin = clocks_[origin_];
  for (Stream* stream : joined_) {
    if (origin[stream] < clocks_[stream][stream]) return hipErrorStreamCaptureUnjoined;
  }
  graph = std::make_shared<Graph>();
  graph->operations = std::make_shared<const OperationList>(std::move(operations_));
  return hipSuccess;
}

Captures& Captures::get() {
  static Captures* const captures = new Captures();
  return *captures;
}

std::shared_ptr<Capture> Captures::begin(Stream& stream, hipStreamCaptureMode mode) {
  auto capture = std::make_shared<Capture>(stream, mode);
  const std::lock_guard lock(mutex_);
  stream.capture = capture;
  active_.push_back(capture);
  ++count_;
  return capture;
}

void Captures::end(const std::shared_ptr<Capture>& capture) {
  const std::lock_guard lock(mutex_);
  count_ -= static_cast<int>(std::erase(active_, capture));
}

bool Captures::forbids_unsafe_call() {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  bool forbidden = false;
  for (const auto& capture : active_) {
    const bool applies =
        capture->mode() == hipStreamCaptureModeGlobal ||
        (capture->mode() == hipStreamCaptureModeThreadLocal && capture->thread() == std::this_thread::get_id());
    if (!applies) continue;
    capture->invalidate();
    forbidden = true;
  }
  return forbidden;
}

std::shared_ptr<Capture> Captures::of(const Stream& stream) {
  if (count_.load() == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return stream.capture;
}

void Captures::set(Stream& stream, std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(mutex_);
  stream.capture = std::move(capture);
}

}  // namespace wavetune::hip::cpu
