// What an NVIDIA GPU's tensor cores can do, for the roofline.
#pragma once

#include <string>
#include <vector>

#include "runtime/hip/provider.h"
#include "search/measure/peak_run.h"

namespace wavetune::search {

/// Kernels that keep the tensor cores busy and nothing else, to stand behind the prelude and `struct Params { float*
/// sink; }`.
std::string nvidia_matrix_source();
std::vector<measure::PeakKernel> nvidia_matrix_kernels(const hip::DeviceInfo& device);

}  // namespace wavetune::search
