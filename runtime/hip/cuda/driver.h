// The CUDA driver API as far as wavetune needs it, declared here so that no CUDA headers are needed to build, and
// loaded from libcuda.so.1 at run time. Functions are asked for by the versioned names that cuda.h hides behind macros:
// a driver keeps every one that it ever exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace wavetune::hip::cuda {

// Handles keep NVIDIA's names; a pointer to an incomplete type each.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uintptr_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

inline constexpr int CU_SHAREDMEM_CARVEOUT_MAX_SHARED = 100;

inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_WRITECOMBINED = 4;

inline constexpr unsigned CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;

struct CUlaunchAttribute {
  unsigned id = 0;
  unsigned padding = 0;
  union {
    char room[64];
    int programmaticStreamSerializationAllowed;
  } value{};
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56);

// clang-format off
// Member, symbol of libcuda, parameters. All of them exist since CUDA 12.0.
#define WAVETUNE_CUDA_FUNCTIONS(X)                                                                       \
  X(cuInit, cuInit, (unsigned))                                                                          \
  X(cuGetErrorName, cuGetErrorName, (CUresult, const char**))                                            \
  X(cuGetErrorString, cuGetErrorString, (CUresult, const char**))                                        \
  X(cuDriverGetVersion, cuDriverGetVersion, (int*))                                                      \
  X(cuDeviceGetCount, cuDeviceGetCount, (int*))                                                          \
  X(cuDeviceGet, cuDeviceGet, (CUdevice*, int))                                                          \
  X(cuDeviceGetName, cuDeviceGetName, (char*, int, CUdevice))                                            \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, CUdevice_attribute, CUdevice))                    \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t*, CUdevice))                                     \
  X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char*, int, CUdevice))                                    \
  X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, CUdevice, CUdevice))                            \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                          \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                       \
  X(cuCtxSynchronize, cuCtxSynchronize, ())                                                              \
  X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext, unsigned))                                 \
  X(cuMemGetInfo, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                         \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr*, std::size_t))                                              \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                              \
  X(cuMemHostAlloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                                     \
  X(cuMemFreeHost, cuMemFreeHost, (void*))                                                               \
  X(cuMemcpyAsync, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                     \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void*, std::size_t, CUstream))          \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, CUdeviceptr, std::size_t, CUstream))                \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))          \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync,                                                                \
    (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t, CUstream))                             \
  X(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, std::size_t, CUstream))               \
  X(cuStreamCreate, cuStreamCreate, (CUstream*, unsigned))                                               \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                                     \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                 \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int))                                      \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph*))                                        \
  X(cuEventCreate, cuEventCreate, (CUevent*, unsigned))                                                  \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent))                                                        \
  X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                                   \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent))                                                   \
  X(cuEventElapsedTime, cuEventElapsedTime, (float*, CUevent, CUevent))                                  \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule*, const void*))                                        \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                                          \
  X(cuModuleGetFunction, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                      \
  X(cuFuncGetAttribute, cuFuncGetAttribute, (int*, CUfunction_attribute, CUfunction))                    \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))                     \
  X(cuLaunchKernel, cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,       \
                                     unsigned, unsigned, CUstream, void**, void**))                      \
  X(cuLaunchKernelEx, cuLaunchKernelEx, (const CUlaunchConfig*, CUfunction, void**, void**))             \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec*, CUgraph, unsigned long long))        \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                               \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                               \
  X(cuGraphDestroy, cuGraphDestroy, (CUgraph))
// clang-format on

struct Driver {
#define WAVETUNE_DECLARE(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  WAVETUNE_CUDA_FUNCTIONS(WAVETUNE_DECLARE)
#undef WAVETUNE_DECLARE
  std::string path;  ///< what the loader was asked for
};

struct DriverSearch {
  const Driver* driver = nullptr;  ///< null: `reason` says why; else good for the rest of the process's life
  std::string reason;
};

/// Loads libcuda.so.1 when that has not worked yet: from WAVETUNE_CUDA_PATH/lib where somebody put one there, else by
/// its name (it comes with the driver, so that it is on the loader's path).
DriverSearch load_driver();

/// The one that load_driver() found. The functions of the table are only handed out after that.
const Driver& driver();

/// "580.159.03": of the kernel's module; empty where the system does not show it.
std::string kernel_module_version();

}  // namespace wavetune::hip::cuda
