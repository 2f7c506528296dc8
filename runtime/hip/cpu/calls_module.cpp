#include <fmt/format.h>

#include <cstdio>

#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/module.h"
#include "runtime/hip/cpu/registry.h"

namespace wavetune::hip::cpu {
namespace {

using Modules = Registry<Module>;
// A function's owner is its module: the entry shares that ownership.
using Functions = Registry<Function>;

hipError_t load(hipModule_t* handle, const void* image) {
  if (handle == nullptr || image == nullptr) return result(hipErrorInvalidValue);
  std::shared_ptr<Module> module;
  const hipError_t error = Module::load(image, current_device().index(), module);
  if (error != hipSuccess) return result(error);
  for (const auto& function : module->functions())
    Functions::get().add(std::shared_ptr<Function>(module, function.get()));
  *handle = reinterpret_cast<hipModule_t>(Modules::get().add(std::move(module)));
  return hipSuccess;
}

hipError_t unload(hipModule_t handle) {
  const std::shared_ptr<Module> module = Modules::get().remove(handle);
  if (!module) return result(hipErrorInvalidHandle);
  for (const auto& function : module->functions()) Functions::get().remove(function.get());
  return hipSuccess;
}

hipError_t get_function(hipFunction_t* out, hipModule_t handle, const char* name) {
  if (out == nullptr || name == nullptr) return result(hipErrorInvalidValue);
  const std::shared_ptr<Module> module = Modules::get().find(handle);
  if (!module) return result(hipErrorInvalidHandle);
  *out = reinterpret_cast<hipFunction_t>(module->find(name));
  return result(*out != nullptr ? hipSuccess : hipErrorNotFound);
}

hipError_t get_attribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
  const std::shared_ptr<Function> function = Functions::get().find(handle);
  if (value == nullptr) return result(hipErrorInvalidValue);
  if (!function) return result(hipErrorInvalidDeviceFunction);
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(function->state.entry->launch_bounds);
      break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 0;
      break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(wt_cpu::lds_limit);
      break;
    default:
      return result(hipErrorInvalidValue);
  }
  return hipSuccess;
}

/// The packed buffer that `extra` names; null when the list is not well-formed or the buffer is shorter than the
/// parameters.
const void* packed_buffer(void** extra, const wt_cpu::Entry& entry) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (void** item = extra; *item != HIP_LAUNCH_PARAM_END; item += 2) {
    if (*item == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = item[1];
    } else if (*item == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const size_t*>(item[1]);
    } else {
      return nullptr;
    }
  }
  return size != nullptr && *size >= Arguments::packed_bytes(entry) ? buffer : nullptr;
}

struct PendingLaunch {
  std::shared_ptr<Function> function;
  Arguments arguments;
  GridLaunch launch;
  Device* device;
};

hipError_t launch(hipFunction_t handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned lds_bytes, hipStream_t stream_handle, void** parameters,
                  void** extra) {
  std::shared_ptr<Function> function = Functions::get().find(handle);
  if (!function) return result(hipErrorInvalidDeviceFunction);
  const std::shared_ptr<Stream> stream = stream_of(stream_handle);
  if (!stream || stream->device().index() != function->module->device()) return result(hipErrorInvalidHandle);
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  const std::uint64_t blocks = std::uint64_t{grid_x} * grid_y * grid_z;
  if (blocks == 0 || threads == 0 || threads > wt_cpu::max_threads || block_x > wt_cpu::max_threads ||
      block_y > wt_cpu::max_threads || lds_bytes > wt_cpu::lds_limit) {
    return result(hipErrorInvalidConfiguration);
  }
  const wt_cpu::Entry& entry = *function->state.entry;
  if (threads > entry.launch_bounds) {
    fmt::print(stderr, "wavetune cpu: kernel {} is launched with {} threads a block, its __launch_bounds__ say {}\n",
               entry.name, threads, entry.launch_bounds);
    return result(hipErrorLaunchFailure);
  }
  if (parameters != nullptr && extra != nullptr) return result(hipErrorInvalidValue);
  const void* packed = nullptr;
  if (extra != nullptr && entry.parameters != 0) {
    packed = packed_buffer(extra, entry);
    if (packed == nullptr) return result(hipErrorInvalidValue);
  } else if (entry.parameters != 0 && parameters == nullptr) {
    return result(hipErrorInvalidValue);
  }
  auto pending = std::make_shared<PendingLaunch>(
      PendingLaunch{std::move(function),
                    packed != nullptr ? Arguments(entry, packed) : Arguments(entry, parameters),
                    {},
                    &stream->device()});
  pending->launch = {&pending->function->state,
                     {grid_x, grid_y, grid_z},
                     {block_x, block_y, block_z},
                     lds_bytes,
                     pending->arguments.pointers()};
  return submit(stream, [pending] {
    const std::optional<std::string> failure = run_grid(pending->launch);
    if (!failure) return;
    fmt::print(stderr, "wavetune cpu: {}\n", *failure);
    pending->device->record_failure(hipErrorLaunchFailure);
  });
}

}  // namespace

void add_module_calls(Api& api) {
  api.hipModuleLoadData = load;
  api.hipModuleUnload = unload;
  api.hipModuleGetFunction = get_function;
  api.hipModuleLaunchKernel = launch;
  api.hipFuncGetAttribute = get_attribute;
}

}  // namespace wavetune::hip::cpu
