// What the CUDA driver's implementations of HIP calls share, and the functions that put them into the table. One file a
// group: calls_device.cpp, calls_memory.cpp, calls_stream.cpp, calls_graph.cpp, calls_module.cpp, calls_rtc.cpp.
//
// Handles are CUDA's own (a hipStream_t is a CUstream, the default streams have the same values in both), except those
// of modules and functions. So are error codes: see errors.cpp.
#pragma once

#include "runtime/hip/api.h"
#include "runtime/hip/cuda/driver.h"

namespace wavetune::hip::cuda {

/// A failure of the driver as HIP's code, remembered for hipGetLastError of this thread.
hipError_t result(CUresult code);
/// The same for a failure that this side finds.
hipError_t result(hipError_t code);

/// Makes the context of the device that hipSetDevice chose in this thread (0 at first) the current one. To be called
/// before every function of the driver that works on a context.
CUresult use_device();
int current_device();
/// The primary context of a device, kept for the rest of the process's life. Null and an error for a device that is
/// none.
CUresult context_of(int device, CUcontext& context);

/// `use_device()`, then the call with these arguments.
template <class Function, class... Arguments>
hipError_t call(Function function, Arguments... arguments) {
  if (const CUresult code = use_device(); code != CUDA_SUCCESS) return result(code);
  return result(function(arguments...));
}

inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
inline CUstream stream_of(hipStream_t stream) { return reinterpret_cast<CUstream>(stream); }
inline CUevent event_of(hipEvent_t event) { return reinterpret_cast<CUevent>(event); }

void add_error_calls(Api& api);
void add_device_calls(Api& api);
void add_memory_calls(Api& api);
void add_stream_calls(Api& api);
void add_graph_calls(Api& api);
void add_module_calls(Api& api);
void add_rtc_calls(Api& api);

}  // namespace wavetune::hip::cuda
