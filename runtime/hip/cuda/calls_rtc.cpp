#include <string_view>

#include "runtime/hip/cuda/calls.h"
#include "runtime/hip/cuda/nvrtc.h"
#include "runtime/hip/cuda/nvrtc_library.h"

namespace wavetune::hip::cuda {
namespace {

constexpr std::string_view hip_arch = "--offload-arch=";

nvrtcProgram program_of(hiprtcProgram program) { return reinterpret_cast<nvrtcProgram>(program); }

/// What is newer than hipRTC's numbers is an internal error to it.
hiprtcResult translated(nvrtcResult code) {
  return code <= HIPRTC_ERROR_INTERNAL_ERROR ? static_cast<hiprtcResult>(code) : HIPRTC_ERROR_INTERNAL_ERROR;
}

template <class Result, class... Parameters, class... Arguments>
hiprtcResult call_rtc(Result (*Nvrtc::*function)(Parameters...), Arguments... arguments) {
  const Nvrtc* const library = nvrtc();
  if (library == nullptr) return HIPRTC_ERROR_INTERNAL_ERROR;
  return translated((library->*function)(arguments...));
}

hiprtcResult create(hiprtcProgram* out, const char* source, const char* name, int headers, const char* const* texts,
                    const char* const* names) {
  return call_rtc(&Nvrtc::nvrtcCreateProgram, reinterpret_cast<nvrtcProgram*>(out), source, name, headers, texts,
                  names);
}

hiprtcResult compile(hiprtcProgram program, int count, const char* const* options) {
  if (count < 0 || (count > 0 && options == nullptr)) return HIPRTC_ERROR_INVALID_INPUT;
  const std::vector<std::string> own = nvrtc_options(count, options);
  std::vector<const char*> pointers;
  for (const std::string& option : own) pointers.push_back(option.c_str());
  return call_rtc(&Nvrtc::nvrtcCompileProgram, program_of(program), static_cast<int>(pointers.size()), pointers.data());
}

const char* error_string(hiprtcResult code) {
  const Nvrtc* const library = nvrtc();
  return library == nullptr ? "NVRTC cannot be loaded" : library->nvrtcGetErrorString(static_cast<nvrtcResult>(code));
}

}  // namespace

std::vector<std::string> nvrtc_options(int count, const char* const* options) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    if (option.starts_with(hip_arch)) {
      result.push_back("--gpu-architecture=" + std::string(option.substr(hip_arch.size())));
    } else if (option == "-ffast-math") {
      result.emplace_back("--use_fast_math");
    } else if (!(option.size() == 3 && option.starts_with("-O"))) {
      result.emplace_back(option);
    }
  }
  result.emplace_back("--ptxas-options=-v");
  return result;
}

void add_rtc_calls(Api& api) {
  api.hiprtcVersion = [](int* major, int* minor) { return call_rtc(&Nvrtc::nvrtcVersion, major, minor); };
  api.hiprtcCreateProgram = create;
  api.hiprtcDestroyProgram = [](hiprtcProgram* program) {
    return call_rtc(&Nvrtc::nvrtcDestroyProgram, reinterpret_cast<nvrtcProgram*>(program));
  };
  api.hiprtcCompileProgram = compile;
  api.hiprtcGetProgramLogSize = [](hiprtcProgram program, size_t* size) {
    return call_rtc(&Nvrtc::nvrtcGetProgramLogSize, program_of(program), size);
  };
  api.hiprtcGetProgramLog = [](hiprtcProgram program, char* text) {
    return call_rtc(&Nvrtc::nvrtcGetProgramLog, program_of(program), text);
  };
  api.hiprtcGetCodeSize = [](hiprtcProgram program, size_t* size) {
    return call_rtc(&Nvrtc::nvrtcGetCUBINSize, program_of(program), size);
  };
  api.hiprtcGetCode = [](hiprtcProgram program, char* code) {
    return call_rtc(&Nvrtc::nvrtcGetCUBIN, program_of(program), code);
  };
  api.hiprtcGetErrorString = error_string;
}

}  // namespace wavetune::hip::cuda
