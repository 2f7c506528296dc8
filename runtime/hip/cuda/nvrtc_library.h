// NVRTC's functions as far as wavetune needs them, declared here so that no CUDA headers are needed to build.
#pragma once

#include <cstddef>

namespace wavetune::hip::cuda {

using nvrtcResult = int;  ///< the values up to NVRTC_ERROR_INTERNAL_ERROR (11) mean the same in hipRTC
using nvrtcProgram = struct _nvrtcProgram*;

// clang-format off
#define WAVETUNE_NVRTC_FUNCTIONS(X)                                                                         \
  X(nvrtcVersion, (int*, int*))                                                                             \
  X(nvrtcCreateProgram,                                                                                     \
    (nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*))                 \
  X(nvrtcDestroyProgram, (nvrtcProgram*))                                                                   \
  X(nvrtcCompileProgram, (nvrtcProgram, int, const char* const*))                                           \
  X(nvrtcGetProgramLogSize, (nvrtcProgram, std::size_t*))                                                   \
  X(nvrtcGetProgramLog, (nvrtcProgram, char*))                                                              \
  X(nvrtcGetCUBINSize, (nvrtcProgram, std::size_t*))                                                        \
  X(nvrtcGetCUBIN, (nvrtcProgram, char*))
// clang-format on

struct Nvrtc {
#define WAVETUNE_DECLARE(name, parameters) nvrtcResult(*name) parameters = nullptr;
  WAVETUNE_NVRTC_FUNCTIONS(WAVETUNE_DECLARE)
#undef WAVETUNE_DECLARE
  const char* (*nvrtcGetErrorString)(nvrtcResult) = nullptr;
};

/// The one of this process; loads what find_nvrtc() finds when none is loaded yet (most processes with a GPU never
/// compile). Null when there is none.
const Nvrtc* nvrtc();

}  // namespace wavetune::hip::cuda
