// A stand-in for libcuda.so.1 that notes what it is called with. Compiled by provider_test; executes nothing.
//   FAKE_CUDA_DEVICES   how many devices it shows (none)   FAKE_CUDA_VERSION   what cuDriverGetVersion says (13000)
//   FAKE_CUDA_RESULT    what cuStreamSynchronize returns (0)
// Functions that are not written out here are added by the test and return success.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/hip/cuda/driver.h"

using namespace wavetune::hip::cuda;

namespace {
std::string calls;

int number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

int note(const char* name, const std::string& arguments = "") { return calls += std::string(name) + "(" + arguments + ") ", 0; }
std::string text(unsigned long long value) { return std::to_string(value); }
}  // namespace

extern "C" {

const char* fake_cuda_calls() {
  static std::string taken;
  taken = calls;
  calls.clear();
  return taken.c_str();
}

int cuInit(unsigned) { return number("FAKE_CUDA_DEVICES", 0) > 0 ? 0 : CUDA_ERROR_NO_DEVICE; }
int cuGetErrorName(int code, const char** out) {
  *out = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS" : nullptr;
  return *out == nullptr;
}
int cuGetErrorString(int code, const char** out) {
  *out = code == 716 ? "misaligned address" : code == 2 ? "out of memory" : nullptr;
  return *out == nullptr;
}
int cuDriverGetVersion(int* version) { return *version = number("FAKE_CUDA_VERSION", 13000), 0; }
int cuDeviceGetCount(int* count) { return *count = number("FAKE_CUDA_DEVICES", 0), 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < number("FAKE_CUDA_DEVICES", 0) ? 0 : 101; }
int cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, static_cast<size_t>(size), "Fake H200"), 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{141} << 30, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return *value = 9, 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return *value = 0, 0;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return *value = 32, 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return *value = 1024, 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return *value = 132, 0;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return *value = 232448, 0;
    default: return *value = 10000 + attribute, 0;
  }
}
int cuDevicePrimaryCtxRetain(CUcontext* context, int device) {
  *context = reinterpret_cast<CUcontext>(100 + static_cast<size_t>(device));
  return note("retain", text(static_cast<unsigned long long>(device)));
}
int cuCtxSetCurrent(CUcontext context) { return note("current", text(reinterpret_cast<size_t>(context))); }
int cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) { return bytes > (size_t{1} << 40) ? 2 : (*out = 4096, note("alloc", text(bytes))); }
int cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  *out = &calls;
  return note("host_alloc", text(bytes) + "," + text(flags));
}
int cuStreamCreate(CUstream* out, unsigned flags) { return *out = reinterpret_cast<CUstream>(7), note("stream", text(flags)); }
int cuStreamSynchronize(CUstream) { return note("sync"), number("FAKE_CUDA_RESULT", 0); }
int cuStreamBeginCapture_v2(CUstream, int mode) { return note("capture", text(static_cast<unsigned long long>(mode))); }
int cuEventCreate(CUevent* out, unsigned flags) { return *out = reinterpret_cast<CUevent>(8), note("event", text(flags)); }
int cuModuleLoadData(CUmodule* out, const void*) { return *out = reinterpret_cast<CUmodule>(9), note("load"); }
int cuModuleGetFunction(CUfunction* out, CUmodule, const char* name) {
  *out = reinterpret_cast<CUfunction>(11);
  return std::strcmp(name, "missing") == 0 ? 500 : note("function", name);
}
int cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) { return *value = 1000, 0; }
int cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  return note("set", text(attribute) + "," + text(static_cast<unsigned long long>(value)));
}
int cuLaunchKernel(CUfunction, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned lds,
                   CUstream, void** parameters, void** extra) {
  const bool ends = extra != nullptr && extra[0] == reinterpret_cast<void*>(1) && extra[2] == reinterpret_cast<void*>(2) && extra[4] == nullptr;
  return note("launch", text(x) + "x" + text(y) + "x" + text(z) + "," + text(bx) + "x" + text(by) + "x" + text(bz) + "," + text(lds) + (ends ? ",packed" : "") + (parameters != nullptr && extra == nullptr ? ",struct" : ""));
}
int cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void**, void**) {
  return note("launch_ex", text(config->gridDimX) + "," + text(config->blockDimX) + "," + text(config->sharedMemBytes) + "," + text(config->numAttrs) + "," + text(config->attrs[0].id) + "=" + text(static_cast<unsigned long long>(config->attrs[0].value.programmaticStreamSerializationAllowed)));
}

// Generated by the test.
#include "fake_rest.inc"
}
