// What a kernel is compiled for when no device of that kind is in this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "templates/operator.h"

namespace wavetune::jit {

struct CompileTarget {
  std::string device;                      ///< device spec that tells the worker which compiler to use: "hip", "cuda"
  std::string arch;                        ///< "gfx950", "sm_90a"
  std::vector<std::string> options;        ///< for hiprtcCompileProgram
  std::string prelude;                     ///< put in front of every kernel source
  std::string compiler, compiler_version;  ///< as in db::Environment: "hiprtc", "7.2"
  std::string compiler_place;              ///< which one was taken: "ROCm in /opt/rocm", "private copy in ..."
  templates::DeviceLimits limits;          ///< of that architecture (amd:: and cuda::limits_of_arch)
};

/// `arch`: gfx950 or gfx942, through hipRTC, or sm_90a and others of NVIDIA's, through NVRTC; neither needs a GPU.
/// Loads nothing. Throws Error usage for another architecture, not_found (where was looked, what to do) when there is
/// no such compiler.
CompileTarget compile_target_for_arch(std::string_view arch);

/// The same for the devices that a provider shows; `device` is the spec that it was loaded by.
CompileTarget compile_target_of(const hip::Provider& provider, const std::string& device);

/// The request that compiles one configuration of an operator for `target`.
CompileRequest request_for(const CompileTarget& target, const templates::Operator& op,
                           const templates::Problem& problem, const templates::Config& config);

}  // namespace wavetune::jit
