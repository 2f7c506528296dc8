// What every compile for an NVIDIA architecture is given, with or without a device at hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/operator.h"

namespace wavetune::hip::cuda {

/// The name under which a compute capability is compiled for and stored: "sm_90a" for 9.0, whose own instructions
/// (wgmma) only that variant has, and so for 10.x and 12.x; "sm_89" and the like before.
std::string arch_of(int major, int minor);

/// Options for hiprtcCompileProgram over NVRTC.
std::vector<std::string> compile_options(std::string_view arch);

/// The vocabulary that stands in front of every kernel source (templates/prelude/).
std::string prelude();

/// Whether a name is one of NVIDIA's architectures, known or not ("sm_90a").
bool is_arch(std::string_view arch);

/// What kernels may assume of an architecture, for compiles without a device: warps of 32; 1024 threads a block; shared
/// memory that a block can opt in to (CUDA C++ Programming Guide, technical specifications per compute capability); SMs
/// of the largest product (data sheets: A100, L40S, H200, B200, B300, RTX PRO 6000). Throws Error usage, naming the
/// known ones, for any other.
templates::DeviceLimits limits_of_arch(std::string_view arch);

}  // namespace wavetune::hip::cuda
