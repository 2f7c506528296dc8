#include "runtime/hip/handles.h"

#include "db/base/error.h"

namespace wavetune::hip {

void check(const Api& api, hipError_t code, const std::string& action) {
  if (code == hipSuccess) return;
  fail(ErrorKind::device, "{}: {} ({})", action, api.hipGetErrorName(code), api.hipGetErrorString(code));
}

void check_rtc(const Api& api, hiprtcResult code, const std::string& action) {
  if (code == HIPRTC_SUCCESS) return;
  fail(ErrorKind::device, "{}: {}", action, api.hiprtcGetErrorString(code));
}

DeviceBuffer::DeviceBuffer(const Api& api, std::size_t bytes) : api_(&api), bytes_(bytes) {
  // HIP refuses empty allocations on some versions; one byte keeps "empty tensor" an ordinary case.
  check(api, api.hipMalloc(&data_, bytes == 0 ? 1 : bytes), fmt::format("hipMalloc of {} bytes", bytes));
}

void DeviceBuffer::reset() {
  if (data_ != nullptr) (void)api_->hipFree(data_);
  data_ = nullptr;
  bytes_ = 0;
}

Stream make_stream(const Api& api) {
  hipStream_t stream = nullptr;
  check(api, api.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  return {api, stream};
}

Event make_event(const Api& api, unsigned flags) {
  hipEvent_t event = nullptr;
  check(api, api.hipEventCreateWithFlags(&event, flags), "hipEventCreateWithFlags");
  return {api, event};
}

Module load_module(const Api& api, std::span<const std::byte> code) {
  hipModule_t module = nullptr;
  check(api, api.hipModuleLoadData(&module, code.data()), fmt::format("hipModuleLoadData ({} bytes)", code.size()));
  return {api, module};
}

hipFunction_t get_function(const Api& api, const Module& module, const std::string& name) {
  hipFunction_t function = nullptr;
  check(api, api.hipModuleGetFunction(&function, module.get(), name.c_str()), "hipModuleGetFunction " + name);
  return function;
}

GraphExec end_capture(const Api& api, hipStream_t stream) {
  hipGraph_t captured = nullptr;
  check(api, api.hipStreamEndCapture(stream, &captured), "hipStreamEndCapture");
  const Graph graph(api, captured);
  hipGraphExec_t executable = nullptr;
  check(api, api.hipGraphInstantiate(&executable, graph.get(), nullptr, nullptr, 0), "hipGraphInstantiate");
  return {api, executable};
}

void launch(const Api& api, hipFunction_t function, std::span<const std::uint32_t, 3> grid,
            std::span<const std::uint32_t, 3> block, std::uint32_t lds_bytes, hipStream_t stream,
            std::span<const std::byte> params) {
  std::size_t size = params.size();
  // HIP takes a non-const pointer but only reads the packed parameters.
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(params.data()), HIP_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, HIP_LAUNCH_PARAM_END};
  check(api,
        api.hipModuleLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], lds_bytes, stream,
                                  nullptr, extra),
        fmt::format("hipModuleLaunchKernel grid {}x{}x{} block {}x{}x{} lds {}", grid[0], grid[1], grid[2], block[0],
                    block[1], block[2], lds_bytes));
}

}  // namespace wavetune::hip
