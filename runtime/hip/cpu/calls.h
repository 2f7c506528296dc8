// What the CPU's implementations of HIP calls share, and the functions that put them into the table. One file a group:
// calls_device.cpp, calls_memory.cpp, calls_stream.cpp, calls_graph.cpp, calls_module.cpp, calls_rtc.cpp.
#pragma once

#include <memory>

#include "runtime/hip/api.h"
#include "runtime/hip/cpu/device.h"
#include "runtime/hip/cpu/stream.h"

namespace wavetune::hip::cpu {

/// Remembers a failure for hipGetLastError of this thread and hands it on.
hipError_t result(hipError_t error);
/// The device that hipSetDevice chose in this thread.
Device& current_device();
/// The stream of a handle; the default stream of the current device for null. Null for a handle that is none.
std::shared_ptr<Stream> stream_of(hipStream_t handle);
/// Puts an operation into the stream, or into the graph that is being captured from it.
hipError_t submit(const std::shared_ptr<Stream>& stream, Operation operation);

void add_device_calls(Api& api);
void add_memory_calls(Api& api);
void add_stream_calls(Api& api);
void add_graph_calls(Api& api);
void add_module_calls(Api& api);
void add_rtc_calls(Api& api);

}  // namespace wavetune::hip::cpu
