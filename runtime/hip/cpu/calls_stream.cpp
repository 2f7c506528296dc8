#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/graph.h"
#include "runtime/hip/cpu/registry.h"

namespace wavetune::hip::cpu {
namespace {

using Streams = Registry<Stream>;
using Events = Registry<Event>;

hipError_t create_stream(hipStream_t* handle, unsigned flags) {
  if (handle == nullptr || (flags & ~unsigned{hipStreamNonBlocking}) != 0) return result(hipErrorInvalidValue);
  *handle = reinterpret_cast<hipStream_t>(Streams::get().add(current_device().make_stream(flags)));
  return hipSuccess;
}

hipError_t destroy_stream(hipStream_t handle) {
  const std::shared_ptr<Stream> stream = Streams::get().find(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (Captures::get().of(*stream)) return result(hipErrorStreamCaptureUnsupported);
  stream->synchronize();
  Streams::get().remove(handle);
  return hipSuccess;
}

hipError_t synchronize_stream(hipStream_t handle) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (const std::shared_ptr<Capture> capture = Captures::get().of(*stream)) {
    capture->invalidate();
    return result(hipErrorStreamCaptureUnsupported);
  }
  // The default stream is done when all that it is ordered behind is.
  if (stream->is_default()) stream->device().enqueue(*stream, [] {});
  stream->synchronize();
  return result(stream->device().take_failure());
}

hipError_t wait_event(hipStream_t handle, hipEvent_t event_handle, unsigned flags) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  const std::shared_ptr<Event> event = Events::get().find(event_handle);
  if (!stream || !event) return result(hipErrorInvalidHandle);
  if (flags != 0) return result(hipErrorInvalidValue);
  const std::shared_ptr<Capture> capture = Captures::get().of(*stream);
  if (const std::shared_ptr<Event::Captured> captured = event->captured()) {
    // What was captured can only be waited for in the same capture; the wait draws the stream into it.
    if (capture && capture != captured->capture) return result(hipErrorStreamCaptureMerge);
    if (!capture && stream->is_default()) return result(hipErrorStreamCaptureUnsupported);
    if (!capture) Captures::get().set(*stream, captured->capture);
    captured->capture->join(*stream, captured->clock);
    return hipSuccess;
  }
  if (capture) {
    capture->invalidate();
    return result(hipErrorStreamCaptureUnsupported);
  }
  if (std::shared_ptr<Recording> recording = event->recording(); recording && !recording->done()) {
    stream->wait_for(std::move(recording));
  }
  return hipSuccess;
}

hipError_t create_event(hipEvent_t* handle, unsigned flags) {
  constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                             hipEventDisableSystemFence | hipEventReleaseToDevice | hipEventReleaseToSystem;
  if (handle == nullptr || (flags & ~known) != 0) return result(hipErrorInvalidValue);
  *handle = reinterpret_cast<hipEvent_t>(Events::get().add(std::make_shared<Event>(current_device().index(), flags)));
  return hipSuccess;
}

hipError_t destroy_event(hipEvent_t handle) {
  return result(Events::get().remove(handle) ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t record_event(hipEvent_t handle, hipStream_t stream_handle) {
  const std::shared_ptr<Event> event = Events::get().find(handle);
  const std::shared_ptr<Stream> stream = stream_of(stream_handle);
  if (!event || !stream || event->device() != stream->device().index()) return result(hipErrorInvalidHandle);
  if (std::shared_ptr<Capture> capture = Captures::get().of(*stream)) {
    Capture::Clock clock = capture->clock(*stream);
    event->set_captured(std::make_shared<Event::Captured>(Event::Captured{std::move(capture), std::move(clock)}));
    return hipSuccess;
  }
  auto recording = std::make_shared<Recording>();
  event->set(recording);
  stream->device().enqueue(*stream, [recording] { recording->complete(); });
  return hipSuccess;
}

hipError_t synchronize_event(hipEvent_t handle) {
  const std::shared_ptr<Event> event = Events::get().find(handle);
  if (!event) return result(hipErrorInvalidHandle);
  if (event->captured()) return result(hipErrorCapturedEvent);
  if (const std::shared_ptr<Recording> recording = event->recording()) recording->wait();
  return result(Machine::get().device(event->device())->take_failure());
}

hipError_t elapsed_time(float* milliseconds, hipEvent_t start_handle, hipEvent_t stop_handle) {
  if (milliseconds == nullptr) return result(hipErrorInvalidValue);
  const std::shared_ptr<Event> start = Events::get().find(start_handle);
  const std::shared_ptr<Event> stop = Events::get().find(stop_handle);
  if (!start || !stop || ((start->flags() | stop->flags()) & hipEventDisableTiming) != 0)
    return result(hipErrorInvalidHandle);
  const std::shared_ptr<Recording> from = start->recording();
  const std::shared_ptr<Recording> to = stop->recording();
  if (!from || !to) return result(hipErrorInvalidHandle);
  if (!from->done() || !to->done()) return result(hipErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to->time() - from->time()).count();
  return hipSuccess;
}

}  // namespace

std::shared_ptr<Stream> stream_of(hipStream_t handle) {
  if (handle == nullptr) return current_device().null_stream();
  return Streams::get().find(handle);
}

hipError_t submit(const std::shared_ptr<Stream>& stream, Operation operation) {
  if (const std::shared_ptr<Capture> capture = Captures::get().of(*stream)) {
    if (capture->invalid()) return result(hipErrorStreamCaptureInvalidated);
    capture->add(*stream, std::move(operation));
    return hipSuccess;
  }
  stream->device().enqueue(*stream, std::move(operation));
  return hipSuccess;
}

void add_stream_calls(Api& api) {
  api.hipStreamCreateWithFlags = create_stream;
  api.hipStreamDestroy = destroy_stream;
  api.hipStreamSynchronize = synchronize_stream;
  api.hipStreamWaitEvent = wait_event;
  api.hipEventCreateWithFlags = create_event;
  api.hipEventDestroy = destroy_event;
  api.hipEventRecord = record_event;
  api.hipEventSynchronize = synchronize_event;
  api.hipEventElapsedTime = elapsed_time;
}

}  // namespace wavetune::hip::cpu
