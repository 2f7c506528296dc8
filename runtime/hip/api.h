// The seam: HIP and hipRTC as a table of functions, filled at run time by whichever provider is there. Host code calls
// `api.hipMalloc(...)` exactly as it would call hipMalloc; no other device abstraction exists.
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <type_traits>

namespace wavetune::hip {

// clang-format would stagger these lists.
// clang-format off
// Every function that wavetune uses, once. Providers fill the table by walking these lists.
#define WAVETUNE_HIP_FUNCTIONS(X)                                                                                  \
  X(hipInit) X(hipDriverGetVersion) X(hipRuntimeGetVersion) X(hipGetDeviceCount) X(hipSetDevice) X(hipGetDevice)    \
  X(hipDeviceGetName) X(hipDeviceGetAttribute) X(hipDeviceTotalMem) X(hipDeviceGetPCIBusId) X(hipMemGetInfo)        \
  X(hipDeviceSynchronize) X(hipFree) X(hipHostFree) X(hipMemcpy) X(hipMemcpyAsync) X(hipMemcpyPeerAsync)            \
  X(hipMemset) X(hipMemsetAsync) X(hipDeviceCanAccessPeer) X(hipDeviceEnablePeerAccess)                             \
  X(hipStreamCreateWithFlags) X(hipStreamDestroy) X(hipStreamSynchronize) X(hipStreamWaitEvent)                     \
  X(hipStreamBeginCapture) X(hipStreamEndCapture) X(hipEventCreateWithFlags) X(hipEventDestroy) X(hipEventRecord)   \
  X(hipEventSynchronize) X(hipEventElapsedTime) X(hipModuleLoadData) X(hipModuleUnload) X(hipModuleGetFunction)     \
  X(hipModuleLaunchKernel) X(hipFuncGetAttribute) X(hipGraphInstantiate) X(hipGraphLaunch) X(hipGraphExecDestroy)   \
  X(hipGraphDestroy) X(hipGetErrorName) X(hipGetErrorString) X(hipGetLastError)
#define WAVETUNE_HIPRTC_FUNCTIONS(X)                                                                                \
  X(hiprtcVersion) X(hiprtcCreateProgram) X(hiprtcCompileProgram) X(hiprtcGetProgramLogSize) X(hiprtcGetProgramLog) \
  X(hiprtcGetCodeSize) X(hiprtcGetCode) X(hiprtcDestroyProgram) X(hiprtcGetErrorString)
// HIP's headers overload these two with templates in C++, so their C signature is spelled out.
#define WAVETUNE_HIP_OVERLOADED_FUNCTIONS(X)    \
  X(hipMalloc, hipError_t (*)(void**, size_t))  \
  X(hipHostMalloc, hipError_t (*)(void**, size_t, unsigned int))
// clang-format on

struct Api {
#define WAVETUNE_DECLARE(name) decltype(&::name) name = nullptr;
#define WAVETUNE_DECLARE_AS(name, ...) std::add_pointer_t<std::remove_pointer_t<__VA_ARGS__>> name = nullptr;
  WAVETUNE_HIP_FUNCTIONS(WAVETUNE_DECLARE)
  WAVETUNE_HIPRTC_FUNCTIONS(WAVETUNE_DECLARE)
  WAVETUNE_HIP_OVERLOADED_FUNCTIONS(WAVETUNE_DECLARE_AS)
#undef WAVETUNE_DECLARE
#undef WAVETUNE_DECLARE_AS
};

}  // namespace wavetune::hip
