// NVRTC behind hipRTC's functions: what a compile worker needs, with or without a GPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/hip/api.h"

namespace wavetune::hip::cuda {

/// A table with only the hiprtc functions filled, over the library at this path, which stays loaded: one a process.
/// What they give is a cubin. Throws Error not_found with the loader's reason.
Api load_nvrtc(const std::string& library);

/// Options of hipRTC that callers may hold (kernels from outside) in NVRTC's spelling: --offload-arch=X becomes
/// --gpu-architecture=X, -O0 to -O3 go (ptxas has a level of its own), -ffast-math becomes --use_fast_math. All else
/// stays. --ptxas-options=-v is added: the log then says what is spilled.
std::vector<std::string> nvrtc_options(int count, const char* const* options);

}  // namespace wavetune::hip::cuda
