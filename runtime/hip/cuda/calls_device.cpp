#include <array>
#include <mutex>

#include "runtime/hip/cuda/calls.h"

namespace wavetune::hip::cuda {
namespace {

constexpr int most_devices = 64;

thread_local int chosen = 0;

/// HIP's attributes and CUDA's numbers for them (CUdevice_attribute_enum).
struct Attribute {
  hipDeviceAttribute_t hip;
  int cuda;
};
constexpr Attribute attributes[] = {
    {hipDeviceAttributeMaxThreadsPerBlock, 1},
    {hipDeviceAttributeMaxBlockDimX, 2},
    {hipDeviceAttributeMaxBlockDimY, 3},
    {hipDeviceAttributeMaxBlockDimZ, 4},
    {hipDeviceAttributeMaxGridDimX, 5},
    {hipDeviceAttributeMaxGridDimY, 6},
    {hipDeviceAttributeMaxGridDimZ, 7},
    // HIP means what a kernel may use. CUDA's attribute of that name (8) stops at 48 KiB; the limit of functions is
    // raised to what a block can opt in to (calls_module.cpp).
    {hipDeviceAttributeMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {hipDeviceAttributeSharedMemPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {hipDeviceAttributeTotalConstantMemory, 9},
    {hipDeviceAttributeWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {hipDeviceAttributeMaxRegistersPerBlock, 12},
    {hipDeviceAttributeClockRate, 13},
    {hipDeviceAttributeMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {hipDeviceAttributeKernelExecTimeout, 17},
    {hipDeviceAttributeIntegrated, 18},
    {hipDeviceAttributeCanMapHostMemory, 19},
    {hipDeviceAttributeComputeMode, 20},
    {hipDeviceAttributeConcurrentKernels, 31},
    {hipDeviceAttributeEccEnabled, 32},
    {hipDeviceAttributePciBusId, 33},
    {hipDeviceAttributePciDeviceId, 34},
    {hipDeviceAttributeMemoryClockRate, 36},
    {hipDeviceAttributeMemoryBusWidth, 37},
    {hipDeviceAttributeL2CacheSize, 38},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, 39},
    {hipDeviceAttributeAsyncEngineCount, 40},
    {hipDeviceAttributeUnifiedAddressing, 41},
    {hipDeviceAttributePciDomainId, 50},
    {hipDeviceAttributeComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {hipDeviceAttributeComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, 81},
    {hipDeviceAttributeSharedMemPerMultiprocessor, 81},
    {hipDeviceAttributeMaxRegistersPerMultiprocessor, 82},
    {hipDeviceAttributeManagedMemory, 83},
    {hipDeviceAttributeCooperativeLaunch, 95},
    {hipDeviceAttributeMaxBlocksPerMultiProcessor, 106},
    {hipDeviceAttributePersistingL2CacheMaxSize, 108},
    {hipDeviceAttributeReservedSharedMemPerBlock, 111},
};

hipError_t get_attribute(int* value, hipDeviceAttribute_t attribute, int device) {
  for (const Attribute& entry : attributes) {
    if (entry.hip == attribute)
      return result(driver().cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(entry.cuda), device));
  }
  return result(hipErrorInvalidValue);
}

hipError_t set_device(int device) {
  CUcontext context = nullptr;
  if (const CUresult code = context_of(device, context); code != CUDA_SUCCESS) return result(code);
  chosen = device;
  return result(use_device());
}

hipError_t get_device(int* device) {
  if (device == nullptr) return result(hipErrorInvalidValue);
  *device = chosen;
  return hipSuccess;
}

hipError_t enable_peer_access(int peer, unsigned flags) {
  CUcontext context = nullptr;
  if (const CUresult code = context_of(peer, context); code != CUDA_SUCCESS) return result(code);
  return call(driver().cuCtxEnablePeerAccess, context, flags);
}

}  // namespace

int current_device() { return chosen; }

CUresult context_of(int device, CUcontext& context) {
  static std::mutex mutex;
  static std::array<CUcontext, most_devices> contexts{};
  const std::lock_guard lock(mutex);
  if (device < 0 || device >= most_devices) return static_cast<CUresult>(hipErrorInvalidDevice);
  CUcontext& kept = contexts[static_cast<std::size_t>(device)];
  if (kept == nullptr) {
    CUdevice handle = 0;
    if (const CUresult code = driver().cuDeviceGet(&handle, device); code != CUDA_SUCCESS) return code;
    if (const CUresult code = driver().cuDevicePrimaryCtxRetain(&kept, handle); code != CUDA_SUCCESS) {
      kept = nullptr;
      return code;
    }
  }
  context = kept;
  return CUDA_SUCCESS;
}

CUresult use_device() {
  // Other libraries (NCCL) put back what they found, so that what this thread set last is what is current.
  thread_local int current = -1;
  if (current == chosen) return CUDA_SUCCESS;
  CUcontext context = nullptr;
  if (const CUresult code = context_of(chosen, context); code != CUDA_SUCCESS) return code;
  if (const CUresult code = driver().cuCtxSetCurrent(context); code != CUDA_SUCCESS) return code;
  current = chosen;
  return CUDA_SUCCESS;
}

void add_device_calls(Api& api) {
  api.hipInit = [](unsigned flags) { return result(driver().cuInit(flags)); };
  // CUDA's numbers: 1000 * major + 10 * minor.
  api.hipDriverGetVersion = [](int* version) { return result(driver().cuDriverGetVersion(version)); };
  api.hipRuntimeGetVersion = api.hipDriverGetVersion;
  api.hipGetDeviceCount = [](int* count) { return result(driver().cuDeviceGetCount(count)); };
  api.hipSetDevice = set_device;
  api.hipGetDevice = get_device;
  // A device's handle is its number, in HIP and in CUDA alike.
  api.hipDeviceGetName = [](char* name, int size, hipDevice_t device) {
    return result(driver().cuDeviceGetName(name, size, device));
  };
  api.hipDeviceGetAttribute = get_attribute;
  api.hipDeviceTotalMem = [](size_t* bytes, hipDevice_t device) {
    return result(driver().cuDeviceTotalMem(bytes, device));
  };
  api.hipDeviceGetPCIBusId = [](char* id, int size, int device) {
    return result(driver().cuDeviceGetPCIBusId(id, size, device));
  };
  api.hipDeviceSynchronize = [] { return call(driver().cuCtxSynchronize); };
  api.hipDeviceCanAccessPeer = [](int* can, int device, int peer) {
    return result(driver().cuDeviceCanAccessPeer(can, device, peer));
  };
  api.hipDeviceEnablePeerAccess = enable_peer_access;
}

}  // namespace wavetune::hip::cuda
