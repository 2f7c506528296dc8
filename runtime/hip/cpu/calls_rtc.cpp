#include <cstring>

#include "db/base/error.h"
#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/compiler.h"
#include "runtime/hip/cpu/registry.h"

namespace wavetune::hip::cpu {
namespace {

struct Program {
  std::string source, name;
  Compiled compiled;
};
using Programs = Registry<Program>;

hiprtcResult version(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  *major = HIP_VERSION_MAJOR;
  *minor = HIP_VERSION_MINOR;
  return HIPRTC_SUCCESS;
}

hiprtcResult create(hiprtcProgram* out, const char* source, const char* name, int headers, const char* const*,
                    const char* const*) {
  if (out == nullptr || source == nullptr || headers < 0) return HIPRTC_ERROR_INVALID_INPUT;
  // Kernels include nothing (templates/prelude), so headers given as text are not carried to the compiler.
  if (headers != 0) return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
  auto program = std::make_shared<Program>();
  program->source = source;
  program->name = name != nullptr && *name != '\0' ? name : "kernel.hip";
  *out = reinterpret_cast<hiprtcProgram>(Programs::get().add(std::move(program)));
  return HIPRTC_SUCCESS;
}

hiprtcResult destroy(hiprtcProgram* handle) {
  if (handle == nullptr || !Programs::get().remove(*handle)) return HIPRTC_ERROR_INVALID_PROGRAM;
  *handle = nullptr;
  return HIPRTC_SUCCESS;
}

hiprtcResult compile_program(hiprtcProgram handle, int count, const char* const* options) {
  const std::shared_ptr<Program> program = Programs::get().find(handle);
  if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
  if (count < 0 || (count > 0 && options == nullptr)) return HIPRTC_ERROR_INVALID_INPUT;
  try {
    program->compiled = compile(program->source, program->name, {options, options + count});
  } catch (const Error& error) {
    program->compiled = {false, std::string("error: ") + error.what(), ""};
  }
  return program->compiled.ok ? HIPRTC_SUCCESS : HIPRTC_ERROR_COMPILATION;
}

hiprtcResult size_of_text(hiprtcProgram handle, size_t* size, bool log) {
  const std::shared_ptr<Program> program = Programs::get().find(handle);
  if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
  if (size == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  *size = log ? program->compiled.log.size() + 1 : program->compiled.code.size();
  return HIPRTC_SUCCESS;
}

hiprtcResult copy_text(hiprtcProgram handle, char* out, bool log) {
  const std::shared_ptr<Program> program = Programs::get().find(handle);
  if (!program) return HIPRTC_ERROR_INVALID_PROGRAM;
  if (out == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  const std::string& text = log ? program->compiled.log : program->compiled.code;
  std::memcpy(out, text.data(), text.size() + (log ? 1 : 0));
  return HIPRTC_SUCCESS;
}

const char* error_string(hiprtcResult code) {
  switch (code) {
    case HIPRTC_SUCCESS:
      return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_OUT_OF_MEMORY:
      return "HIPRTC_ERROR_OUT_OF_MEMORY";
    case HIPRTC_ERROR_PROGRAM_CREATION_FAILURE:
      return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case HIPRTC_ERROR_INVALID_INPUT:
      return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_INVALID_PROGRAM:
      return "HIPRTC_ERROR_INVALID_PROGRAM";
    case HIPRTC_ERROR_INVALID_OPTION:
      return "HIPRTC_ERROR_INVALID_OPTION";
    case HIPRTC_ERROR_COMPILATION:
      return "HIPRTC_ERROR_COMPILATION";
    default:
      return "HIPRTC_ERROR_INTERNAL_ERROR";
  }
}

}  // namespace

void add_rtc_calls(Api& api) {
  api.hiprtcVersion = version;
  api.hiprtcCreateProgram = create;
  api.hiprtcDestroyProgram = destroy;
  api.hiprtcCompileProgram = compile_program;
  api.hiprtcGetProgramLogSize = [](hiprtcProgram program, size_t* size) { return size_of_text(program, size, true); };
  api.hiprtcGetProgramLog = [](hiprtcProgram program, char* out) { return copy_text(program, out, true); };
  api.hiprtcGetCodeSize = [](hiprtcProgram program, size_t* size) { return size_of_text(program, size, false); };
  api.hiprtcGetCode = [](hiprtcProgram program, char* out) { return copy_text(program, out, false); };
  api.hiprtcGetErrorString = error_string;
}

}  // namespace wavetune::hip::cpu
