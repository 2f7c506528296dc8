// Compiling and launching small kernels on the CPU provider.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/base/error.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"

namespace wavetune::hip::test {

inline std::shared_ptr<const Provider> cpu_provider(int devices = 1) {
  return load_provider(parse_device_spec("cpu:" + std::to_string(devices)));
}

struct CompileOutcome {
  hiprtcResult result = HIPRTC_SUCCESS;
  std::string log;
  std::string code;
};

inline CompileOutcome compile(const Provider& provider, const std::string& kernels, std::vector<std::string> options) {
  const Api& api = provider.api();
  const std::string source = provider.prelude() + "\n#line 1 \"test.hip\"\n" + kernels;
  hiprtcProgram program = nullptr;
  check_rtc(api, api.hiprtcCreateProgram(&program, source.c_str(), "test.hip", 0, nullptr, nullptr),
            "hiprtcCreateProgram");
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  CompileOutcome outcome;
  outcome.result = api.hiprtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data());
  size_t size = 0;
  check_rtc(api, api.hiprtcGetProgramLogSize(program, &size), "log size");
  outcome.log.resize(size);
  check_rtc(api, api.hiprtcGetProgramLog(program, outcome.log.data()), "log");
  if (outcome.result == HIPRTC_SUCCESS) {
    check_rtc(api, api.hiprtcGetCodeSize(program, &size), "code size");
    outcome.code.resize(size);
    check_rtc(api, api.hiprtcGetCode(program, outcome.code.data()), "code");
  }
  check_rtc(api, api.hiprtcDestroyProgram(&program), "destroy");
  return outcome;
}

/// One translation unit, loaded on the current device; a stream; memory that kernels get as their first member.
class Kernels {
 public:
  explicit Kernels(const std::string& source, std::shared_ptr<const Provider> provider = cpu_provider())
      : provider_(std::move(provider)), api(provider_->api()) {
    const CompileOutcome outcome = compile(*provider_, source, provider_->compile_options(provider_->devices()[0]));
    if (outcome.result != HIPRTC_SUCCESS) throw std::runtime_error(outcome.log);
    code = outcome.code;
    module = load_module(api, std::as_bytes(std::span(code)));
    stream = make_stream(api);
  }

  /// The launch's own code, not that of the execution.
  template <class P>
  hipError_t launch(const std::string& name, unsigned blocks, unsigned threads, const P& params, unsigned lds = 0) {
    return launch3(name, {blocks, 1, 1}, {threads, 1, 1}, params, lds);
  }
  template <class P>
  hipError_t launch3(const std::string& name, std::array<unsigned, 3> grid, std::array<unsigned, 3> block, P params,
                     unsigned lds = 0, std::optional<hipStream_t> on = {}) {
    size_t size = sizeof params;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &params, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    return api.hipModuleLaunchKernel(get_function(api, module, name), grid[0], grid[1], grid[2], block[0], block[1],
                                     block[2], lds, on.value_or(stream.get()), nullptr, extra);
  }
  hipError_t synchronize() { return api.hipStreamSynchronize(stream.get()); }

  template <class T>
  std::vector<T> read(const DeviceBuffer& buffer, size_t count) {
    std::vector<T> values(count);
    check(api, api.hipMemcpy(values.data(), buffer.get(), count * sizeof(T), hipMemcpyDeviceToHost), "hipMemcpy");
    return values;
  }

 private:
  std::shared_ptr<const Provider> provider_;

 public:
  const Api& api;
  std::string code;
  Module module;
  Stream stream;
};

}  // namespace wavetune::hip::test
