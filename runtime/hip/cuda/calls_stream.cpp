#include "runtime/hip/cuda/calls.h"

namespace wavetune::hip::cuda {
namespace {

// Same bits in both: non-blocking streams; events that block a waiting thread, have no time, cross processes.
static_assert(hipStreamNonBlocking == 1 && hipEventBlockingSync == 1 && hipEventDisableTiming == 2 &&
              hipEventInterprocess == 4);
constexpr unsigned event_flags = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess;

hipError_t create_stream(hipStream_t* stream, unsigned flags) {
  return call(driver().cuStreamCreate, reinterpret_cast<CUstream*>(stream), flags);
}

hipError_t create_event(hipEvent_t* event, unsigned flags) {
  // HIP's flags of fences and releases tune AMD's caches and have no counterpart.
  return call(driver().cuEventCreate, reinterpret_cast<CUevent*>(event), flags & event_flags);
}

}  // namespace

void add_stream_calls(Api& api) {
  api.hipStreamCreateWithFlags = create_stream;
  api.hipStreamDestroy = [](hipStream_t stream) { return call(driver().cuStreamDestroy, stream_of(stream)); };
  api.hipStreamSynchronize = [](hipStream_t stream) { return call(driver().cuStreamSynchronize, stream_of(stream)); };
  api.hipStreamWaitEvent = [](hipStream_t stream, hipEvent_t event, unsigned flags) {
    return call(driver().cuStreamWaitEvent, stream_of(stream), event_of(event), flags);
  };
  api.hipEventCreateWithFlags = create_event;
  api.hipEventDestroy = [](hipEvent_t event) { return call(driver().cuEventDestroy, event_of(event)); };
  api.hipEventRecord = [](hipEvent_t event, hipStream_t stream) {
    return call(driver().cuEventRecord, event_of(event), stream_of(stream));
  };
  api.hipEventSynchronize = [](hipEvent_t event) { return call(driver().cuEventSynchronize, event_of(event)); };
  api.hipEventElapsedTime = [](float* milliseconds, hipEvent_t start, hipEvent_t stop) {
    return call(driver().cuEventElapsedTime, milliseconds, event_of(start), event_of(stop));
  };
}

}  // namespace wavetune::hip::cuda
