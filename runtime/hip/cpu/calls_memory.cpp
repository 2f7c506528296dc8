#include <cstring>
#include <vector>

#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/graph.h"

namespace wavetune::hip::cpu {
namespace {

hipError_t allocate(void** pointer, size_t bytes, bool host) {
  if (pointer == nullptr) return result(hipErrorInvalidValue);
  if (Captures::get().forbids_unsafe_call()) return result(hipErrorStreamCaptureUnsupported);
  *pointer = nullptr;
  if (bytes == 0) return hipSuccess;
  *pointer = Machine::get().allocate(bytes, host ? -1 : current_device().index());
  return result(*pointer != nullptr ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t malloc_device(void** pointer, size_t bytes) { return allocate(pointer, bytes, false); }
hipError_t malloc_host(void** pointer, size_t bytes, unsigned) { return allocate(pointer, bytes, true); }

hipError_t free_memory(void* pointer, bool host) {
  if (pointer == nullptr) return hipSuccess;
  if (Captures::get().forbids_unsafe_call()) return result(hipErrorStreamCaptureUnsupported);
  const std::optional<Allocation> found = Machine::get().find(pointer);
  if (!found || (found->device < 0) != host) return result(hipErrorInvalidValue);
  // As HIP does: nothing that is in flight may lose its memory.
  if (!host) Machine::get().device(found->device)->synchronize();
  return result(Machine::get().free(pointer, host) ? hipSuccess : hipErrorInvalidValue);
}

hipError_t memory_info(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return result(hipErrorInvalidValue);
  *total = Machine::get().memory_bytes();
  const std::size_t used = current_device().used();
  *free = used > *total ? 0 : *total - used;
  return hipSuccess;
}

/// What is known of one end of a copy.
struct End {
  std::optional<Allocation> allocation;
  bool pageable() const { return !allocation; }
  bool device() const { return allocation && allocation->device >= 0; }
  bool holds(const void* pointer, size_t bytes) const {
    return !allocation || reinterpret_cast<std::uintptr_t>(pointer) + bytes <= allocation->begin + allocation->bytes;
  }
};

hipError_t check_copy(const void* to, const void* from, size_t bytes, hipMemcpyKind kind, End& to_end, End& from_end) {
  if (to == nullptr || from == nullptr) return hipErrorInvalidValue;
  to_end.allocation = Machine::get().find(to);
  from_end.allocation = Machine::get().find(from);
  if (!to_end.holds(to, bytes) || !from_end.holds(from, bytes)) return hipErrorInvalidValue;
  switch (kind) {
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
      return hipSuccess;
    case hipMemcpyHostToDevice:
      return to_end.pageable() ? hipErrorInvalidValue : hipSuccess;
    case hipMemcpyDeviceToHost:
      return from_end.pageable() ? hipErrorInvalidValue : hipSuccess;
    case hipMemcpyDeviceToDevice:
      return to_end.pageable() || from_end.pageable() ? hipErrorInvalidValue : hipSuccess;
    default:
      return hipErrorInvalidMemcpyDirection;
  }
}

/// Does `operation` in the order of the default stream and waits for it; on this thread when nothing is in flight
/// there.
hipError_t in_default_order(const Operation& operation) {
  if (Captures::get().forbids_unsafe_call()) return result(hipErrorStreamCaptureUnsupported);
  Device& device = current_device();
  if (device.default_order_idle()) {
    operation();
  } else {
    const std::shared_ptr<Stream> stream = device.null_stream();
    device.enqueue(*stream, operation);
    stream->synchronize();
  }
  return result(device.take_failure());
}

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  if (bytes == 0) return hipSuccess;
  End to_end, from_end;
  if (const hipError_t error = check_copy(to, from, bytes, kind, to_end, from_end)) return result(error);
  return in_default_order([=] { std::memmove(to, from, bytes); });
}

hipError_t copy_async(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t handle) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (bytes == 0) return hipSuccess;
  End to_end, from_end;
  if (const hipError_t error = check_copy(to, from, bytes, kind, to_end, from_end)) return result(error);
  const bool captured = Captures::get().of(*stream) != nullptr;
  if (from_end.pageable() && !captured) {
    // The caller may use pageable memory again as soon as the call is back.
    const auto* const begin = static_cast<const std::byte*>(from);
    auto staged = std::make_shared<const std::vector<std::byte>>(begin, begin + bytes);
    return submit(stream, [to, staged] { std::memcpy(to, staged->data(), staged->size()); });
  }
  const hipError_t error = submit(stream, [=] { std::memmove(to, from, bytes); });
  if (error == hipSuccess && to_end.pageable() && !captured) stream->synchronize();  // as HIP does
  return error;
}

hipError_t copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           hipStream_t handle) {
  Machine& machine = Machine::get();
  if (machine.device(to_device) == nullptr || machine.device(from_device) == nullptr)
    return result(hipErrorInvalidDevice);
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (bytes == 0) return hipSuccess;
  End to_end, from_end;
  if (const hipError_t error = check_copy(to, from, bytes, hipMemcpyDeviceToDevice, to_end, from_end))
    return result(error);
  if (to_end.allocation->device != to_device || from_end.allocation->device != from_device)
    return result(hipErrorInvalidValue);
  return submit(stream, [=] { std::memmove(to, from, bytes); });
}

hipError_t check_set(void* to, size_t bytes) {
  const End end{Machine::get().find(to)};
  return end.pageable() || !end.holds(to, bytes) ? hipErrorInvalidValue : hipSuccess;
}

hipError_t set(void* to, int value, size_t bytes) {
  if (bytes == 0) return hipSuccess;
  if (const hipError_t error = check_set(to, bytes)) return result(error);
  return in_default_order([=] { std::memset(to, value, bytes); });
}

hipError_t set_async(void* to, int value, size_t bytes, hipStream_t handle) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (bytes == 0) return hipSuccess;
  if (const hipError_t error = check_set(to, bytes)) return result(error);
  return submit(stream, [=] { std::memset(to, value, bytes); });
}

}  // namespace

void add_memory_calls(Api& api) {
  api.hipMalloc = malloc_device;
  api.hipHostMalloc = malloc_host;
  api.hipFree = [](void* pointer) { return free_memory(pointer, false); };
  api.hipHostFree = [](void* pointer) { return free_memory(pointer, true); };
  api.hipMemGetInfo = memory_info;
  api.hipMemcpy = copy;
  api.hipMemcpyAsync = copy_async;
  api.hipMemcpyPeerAsync = copy_peer_async;
  api.hipMemset = set;
  api.hipMemsetAsync = set_async;
}

}  // namespace wavetune::hip::cpu
