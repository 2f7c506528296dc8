#include "runtime/hip/cuda/calls.h"

namespace wavetune::hip::cuda {
namespace {

hipError_t allocate(void** out, size_t bytes) {
  if (out == nullptr) return result(hipErrorInvalidValue);
  *out = nullptr;
  if (bytes == 0) return hipSuccess;  // CUDA refuses it
  CUdeviceptr memory = 0;
  const hipError_t code = call(driver().cuMemAlloc, &memory, bytes);
  *out = reinterpret_cast<void*>(memory);
  return code;
}

hipError_t release(void* memory) {
  if (memory == nullptr) return hipSuccess;
  return call(driver().cuMemFree, address(memory));
}

hipError_t allocate_host(void** out, size_t bytes, unsigned flags) {
  if (out == nullptr) return result(hipErrorInvalidValue);
  *out = nullptr;
  if (bytes == 0) return hipSuccess;
  // HIP's pinned memory is reachable from every device without asking. Its flags of coherence and NUMA have no
  // counterpart: CUDA's pinned memory is coherent.
  const unsigned kept = flags & CU_MEMHOSTALLOC_WRITECOMBINED;
  return call(driver().cuMemHostAlloc, out, bytes, kept | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}

hipError_t release_host(void* memory) {
  if (memory == nullptr) return hipSuccess;
  return call(driver().cuMemFreeHost, memory);
}

hipError_t copy_async(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  switch (kind) {
    case hipMemcpyHostToDevice:
      return call(driver().cuMemcpyHtoDAsync, address(to), from, bytes, stream_of(stream));
    case hipMemcpyDeviceToHost:
      return call(driver().cuMemcpyDtoHAsync, to, address(from), bytes, stream_of(stream));
    case hipMemcpyDeviceToDevice:
    case hipMemcpyDeviceToDeviceNoCU:
      return call(driver().cuMemcpyDtoDAsync, address(to), address(from), bytes, stream_of(stream));
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
      return call(driver().cuMemcpyAsync, address(to), address(from), bytes, stream_of(stream));
  }
  return result(hipErrorInvalidMemcpyDirection);
}

/// CUDA's own synchronous calls return before the data is there where they can (between two places on a device, from
/// pageable memory): its default stream orders what follows. Streams made with hipStreamNonBlocking are not ordered
/// behind that one, so wait.
hipError_t finish(hipError_t code) {
  return code != hipSuccess ? code : call(driver().cuStreamSynchronize, CUstream{});
}

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return finish(copy_async(to, from, bytes, kind, nullptr));
}

hipError_t copy_peer(void* to, int to_device, const void* from, int from_device, size_t bytes, hipStream_t stream) {
  CUcontext to_context = nullptr;
  CUcontext from_context = nullptr;
  if (const CUresult code = context_of(to_device, to_context); code != CUDA_SUCCESS) return result(code);
  if (const CUresult code = context_of(from_device, from_context); code != CUDA_SUCCESS) return result(code);
  if (bytes == 0) return hipSuccess;
  return call(driver().cuMemcpyPeerAsync, address(to), to_context, address(from), from_context, bytes,
              stream_of(stream));
}

hipError_t set_async(void* to, int value, size_t bytes, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  return call(driver().cuMemsetD8Async, address(to), static_cast<unsigned char>(value), bytes, stream_of(stream));
}

}  // namespace

void add_memory_calls(Api& api) {
  api.hipMalloc = allocate;
  api.hipFree = release;
  api.hipHostMalloc = allocate_host;
  api.hipHostFree = release_host;
  api.hipMemGetInfo = [](size_t* free, size_t* total) { return call(driver().cuMemGetInfo, free, total); };
  api.hipMemcpy = copy;
  api.hipMemcpyAsync = copy_async;
  api.hipMemcpyPeerAsync = copy_peer;
  api.hipMemset = [](void* to, int value, size_t bytes) { return finish(set_async(to, value, bytes, nullptr)); };
  api.hipMemsetAsync = set_async;
}

}  // namespace wavetune::hip::cuda
