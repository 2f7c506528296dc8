#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "runtime/hip/cuda/calls.h"
#include "runtime/hip/cuda/cubin.h"

namespace wavetune::hip::cuda {
namespace {

/// A module that defines this launches its kernels before their predecessor in the stream has ended (programmatic
/// dependent launch): they wait for it themselves, where they need its results (griddepcontrol.wait).
constexpr const char* overlap_symbol = "wt_overlaps_predecessor";

struct Function {
  CUfunction handle = nullptr;
  bool overlaps = false;
  /// Its packed parameters are one struct: passed as such, and not in a buffer, because the driver puts a buffer where
  /// parameters begin, which for a struct with an alignment of 64 (tensor maps) is not where the kernel looks for it.
  bool takes_one_struct = false;
};

struct Module {
  CUmodule handle = nullptr;
  int device = 0;
  bool overlaps = false;
  std::set<std::string> with_one_parameter;  ///< names of kernels
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

Module* module_of(hipModule_t module) { return reinterpret_cast<Module*>(module); }
Function* function_of(hipFunction_t function) { return reinterpret_cast<Function*>(function); }

hipError_t load(hipModule_t* out, const void* image) {
  if (out == nullptr || image == nullptr) return result(hipErrorInvalidValue);
  auto module = std::make_unique<Module>();
  if (const hipError_t code = call(driver().cuModuleLoadData, &module->handle, image); code != hipSuccess) return code;
  module->device = current_device();
  const std::span<const std::byte> cubin = cubin_at(image);
  module->overlaps = cubin_defines(cubin, overlap_symbol);
  if (is_cubin(cubin)) {
    for (CubinKernel& kernel : read_cubin(cubin, "a module").kernels) {
      if (kernel.parameters == 1) module->with_one_parameter.insert(std::move(kernel.name));
    }
  }
  *out = reinterpret_cast<hipModule_t>(module.release());
  return hipSuccess;
}

hipError_t unload(hipModule_t handle) {
  if (handle == nullptr) return result(hipErrorInvalidHandle);
  const std::unique_ptr<Module> module(module_of(handle));
  return call(driver().cuModuleUnload, module->handle);
}

/// Lets launches of the function ask for all the shared memory that the device has for a block beside what the function
/// has of its own: without this CUDA refuses more than 48 KiB. And asks for the same split of an SM's memory between L1
/// and shared memory for all functions: an SM must run dry before the split changes, so that kernels with different
/// ones never overlap.
CUresult allow_shared_memory(CUfunction function, int device) {
  int most = 0;
  int own = 0;
  CUdevice handle = 0;
  if (const CUresult code = driver().cuDeviceGet(&handle, device); code != CUDA_SUCCESS) return code;
  if (const CUresult code =
          driver().cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
      code != CUDA_SUCCESS) {
    return code;
  }
  if (const CUresult code = driver().cuFuncGetAttribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
      code != CUDA_SUCCESS) {
    return code;
  }
  if (const CUresult code = driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                        std::max(0, most - own));
      code != CUDA_SUCCESS) {
    return code;
  }
  return driver().cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                     CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
}

hipError_t get_function(hipFunction_t* out, hipModule_t handle, const char* name) {
  if (out == nullptr || name == nullptr) return result(hipErrorInvalidValue);
  if (handle == nullptr) return result(hipErrorInvalidHandle);
  Module& module = *module_of(handle);
  const std::lock_guard lock(module.mutex);
  std::unique_ptr<Function>& function = module.functions[name];
  if (!function) {
    auto made = std::make_unique<Function>();
    made->overlaps = module.overlaps;
    made->takes_one_struct = module.with_one_parameter.contains(name);
    hipError_t code = call(driver().cuModuleGetFunction, &made->handle, module.handle, name);
    if (code == hipSuccess) code = result(allow_shared_memory(made->handle, module.device));
    if (code != hipSuccess) {
      module.functions.erase(name);
      return code;
    }
    function = std::move(made);
  }
  *out = reinterpret_cast<hipFunction_t>(function.get());
  return hipSuccess;
}

hipError_t get_attribute(int* value, hipFunction_attribute attribute, hipFunction_t function) {
  // The enumerations are the same up to the preferred carve-out.
  static_assert(int{HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES} == int{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES} &&
                int{HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT} ==
                    int{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT});
  if (function == nullptr) return result(hipErrorInvalidDeviceFunction);
  return call(driver().cuFuncGetAttribute, value, static_cast<CUfunction_attribute>(attribute),
              function_of(function)->handle);
}

/// The two ways of passing parameters differ in one number: how `extra` ends.
struct Extra {
  explicit Extra(void** hip) {
    if (hip == nullptr) return;
    void** out = items;
    for (; *hip != HIP_LAUNCH_PARAM_END && out < items + std::size(items) - 1; hip += 2, out += 2) {
      out[0] = hip[0];
      out[1] = hip[1];
    }
    *out = nullptr;  // CU_LAUNCH_PARAM_END
    pointer = items;
  }
  void* items[5]{};
  void** pointer = nullptr;
};

/// The buffer that `extra` names, or null.
void* packed_parameters(void** extra) {
  for (; extra != nullptr && *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER) return extra[1];
  }
  return nullptr;
}

hipError_t launch(hipFunction_t handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned lds_bytes, hipStream_t stream, void** parameters,
                  void** hip_extra) {
  if (handle == nullptr) return result(hipErrorInvalidDeviceFunction);
  const Function& function = *function_of(handle);
  void* packed = function.takes_one_struct ? packed_parameters(hip_extra) : nullptr;
  if (packed != nullptr) {
    parameters = &packed;
    hip_extra = nullptr;
  }
  const Extra extra(hip_extra);
  if (!function.overlaps) {
    return call(driver().cuLaunchKernel, function.handle, grid_x, grid_y, grid_z, block_x, block_y, block_z, lds_bytes,
                stream_of(stream), parameters, extra.pointer);
  }
  CUlaunchAttribute overlap;
  overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  overlap.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config{grid_x,   grid_y, grid_z, block_x, block_y, block_z, lds_bytes, stream_of(stream),
                              &overlap, 1};
  return call(driver().cuLaunchKernelEx, &config, function.handle, parameters, extra.pointer);
}

}  // namespace

void add_module_calls(Api& api) {
  api.hipModuleLoadData = load;
  api.hipModuleUnload = unload;
  api.hipModuleGetFunction = get_function;
  api.hipModuleLaunchKernel = launch;
  api.hipFuncGetAttribute = get_attribute;
}

}  // namespace wavetune::hip::cuda
