#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/code_object.h"
#include "runtime/hip/cpu/graph.h"
#include "templates/prelude/cpu_abi.hip"

namespace wavetune::hip::cpu {
namespace {

thread_local int current_index = 0;
thread_local hipError_t last_error = hipSuccess;

hipError_t init(unsigned flags) { return result(flags == 0 ? hipSuccess : hipErrorInvalidValue); }

hipError_t version(int* out) {
  if (out == nullptr) return result(hipErrorInvalidValue);
  *out = HIP_VERSION;
  return hipSuccess;
}

hipError_t get_device_count(int* count) {
  if (count == nullptr) return result(hipErrorInvalidValue);
  *count = Machine::get().device_count();
  return result(*count == 0 ? hipErrorNoDevice : hipSuccess);
}

hipError_t set_device(int index) {
  if (Machine::get().device(index) == nullptr) return result(hipErrorInvalidDevice);
  current_index = index;
  return hipSuccess;
}

hipError_t get_device(int* index) {
  if (index == nullptr) return result(hipErrorInvalidValue);
  *index = current_index;
  return hipSuccess;
}

hipError_t copy_text(const std::string& text, char* out, int size) {
  if (out == nullptr || size <= 0) return result(hipErrorInvalidValue);
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(size) - 1);
  text.copy(out, length);
  out[length] = '\0';
  return hipSuccess;
}

hipError_t get_name(char* name, int size, hipDevice_t index) {
  if (Machine::get().device(index) == nullptr) return result(hipErrorInvalidDevice);
  return copy_text(cpu_name(), name, size);
}

hipError_t get_pci_bus_id(char* id, int size, int index) {
  if (Machine::get().device(index) == nullptr) return result(hipErrorInvalidDevice);
  if (size < 13) return result(hipErrorInvalidValue);
  return copy_text(fmt::format("0000:{:02x}:00.0", index), id, size);
}

hipError_t total_memory(size_t* bytes, hipDevice_t index) {
  if (Machine::get().device(index) == nullptr) return result(hipErrorInvalidDevice);
  if (bytes == nullptr) return result(hipErrorInvalidValue);
  *bytes = Machine::get().memory_bytes();
  return hipSuccess;
}

hipError_t get_attribute(int* value, hipDeviceAttribute_t attribute, int index) {
  if (Machine::get().device(index) == nullptr) return result(hipErrorInvalidDevice);
  if (value == nullptr) return result(hipErrorInvalidValue);
  switch (attribute) {
    case hipDeviceAttributeWarpSize:
      *value = static_cast<int>(wt_cpu::wave_lanes);
      break;
    case hipDeviceAttributeMaxThreadsPerBlock:
      *value = static_cast<int>(wt_cpu::max_threads);
      break;
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      *value = static_cast<int>(wt_cpu::max_threads);
      break;
    case hipDeviceAttributeMaxGridDimX:
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      *value = 0x7FFFFFFF;
      break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      *value = static_cast<int>(wt_cpu::lds_limit);
      break;
    case hipDeviceAttributeMultiprocessorCount:
      *value = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
      break;
    case hipDeviceAttributeComputeCapabilityMajor:
    case hipDeviceAttributeComputeCapabilityMinor:
    case hipDeviceAttributeClockRate:
    case hipDeviceAttributeMemoryClockRate:
    case hipDeviceAttributeMemoryBusWidth:
    case hipDeviceAttributeL2CacheSize:
      *value = 0;
      break;
    default:
      return result(hipErrorInvalidValue);
  }
  return hipSuccess;
}

hipError_t synchronize() {
  if (Captures::get().forbids_unsafe_call()) return result(hipErrorStreamCaptureUnsupported);
  current_device().synchronize();
  return result(current_device().take_failure());
}

hipError_t can_access_peer(int* can, int index, int peer) {
  Machine& machine = Machine::get();
  if (can == nullptr) return result(hipErrorInvalidValue);
  if (machine.device(index) == nullptr || machine.device(peer) == nullptr) return result(hipErrorInvalidDevice);
  *can = index != peer ? 1 : 0;
  return hipSuccess;
}

hipError_t enable_peer_access(int peer, unsigned flags) {
  if (flags != 0) return result(hipErrorInvalidValue);
  if (Machine::get().device(peer) == nullptr || peer == current_index) return result(hipErrorInvalidDevice);
  return result(current_device().enable_peer(peer) ? hipSuccess : hipErrorPeerAccessAlreadyEnabled);
}

struct ErrorText {
  hipError_t code;
  const char* name;
  const char* text;
};
#define WAVETUNE_ERROR(code, text) \
  { code, #code, text }
constexpr ErrorText error_texts[] = {
    WAVETUNE_ERROR(hipSuccess, "no error"),
    WAVETUNE_ERROR(hipErrorInvalidValue, "invalid argument"),
    WAVETUNE_ERROR(hipErrorOutOfMemory, "out of memory"),
    WAVETUNE_ERROR(hipErrorNotInitialized, "initialization error"),
    WAVETUNE_ERROR(hipErrorInvalidConfiguration, "invalid configuration argument"),
    WAVETUNE_ERROR(hipErrorInvalidDevicePointer, "invalid device pointer"),
    WAVETUNE_ERROR(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    WAVETUNE_ERROR(hipErrorInvalidDeviceFunction, "invalid device function"),
    WAVETUNE_ERROR(hipErrorNoDevice, "no ROCm-capable device is detected"),
    WAVETUNE_ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
    WAVETUNE_ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
    WAVETUNE_ERROR(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    WAVETUNE_ERROR(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    WAVETUNE_ERROR(hipErrorInvalidHandle, "invalid resource handle"),
    WAVETUNE_ERROR(hipErrorNotFound, "named symbol not found"),
    WAVETUNE_ERROR(hipErrorNotReady, "device not ready"),
    WAVETUNE_ERROR(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    WAVETUNE_ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
    WAVETUNE_ERROR(hipErrorNotSupported, "operation not supported"),
    WAVETUNE_ERROR(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    WAVETUNE_ERROR(hipErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    WAVETUNE_ERROR(hipErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    WAVETUNE_ERROR(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    WAVETUNE_ERROR(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    WAVETUNE_ERROR(hipErrorStreamCaptureWrongThread,
                   "attempt to terminate a thread-local capture sequence from another thread"),
    WAVETUNE_ERROR(hipErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    WAVETUNE_ERROR(hipErrorUnknown, "unknown error"),
};
#undef WAVETUNE_ERROR

const ErrorText& text_of(hipError_t code) {
  for (const ErrorText& entry : error_texts) {
    if (entry.code == code) return entry;
  }
  return std::end(error_texts)[-1];
}

}  // namespace

hipError_t result(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

Device& current_device() { return *Machine::get().device(current_index); }

void add_device_calls(Api& api) {
  api.hipInit = init;
  api.hipDriverGetVersion = version;
  api.hipRuntimeGetVersion = version;
  api.hipGetDeviceCount = get_device_count;
  api.hipSetDevice = set_device;
  api.hipGetDevice = get_device;
  api.hipDeviceGetName = get_name;
  api.hipDeviceGetPCIBusId = get_pci_bus_id;
  api.hipDeviceTotalMem = total_memory;
  api.hipDeviceGetAttribute = get_attribute;
  api.hipDeviceSynchronize = synchronize;
  api.hipDeviceCanAccessPeer = can_access_peer;
  api.hipDeviceEnablePeerAccess = enable_peer_access;
  api.hipGetErrorName = [](hipError_t code) { return text_of(code).name; };
  api.hipGetErrorString = [](hipError_t code) { return text_of(code).text; };
  api.hipGetLastError = [] { return std::exchange(last_error, hipSuccess); };
}

}  // namespace wavetune::hip::cpu
