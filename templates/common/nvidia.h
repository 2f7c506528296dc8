// What kernels may use of NVIDIA's GPUs, by generation.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

bool is_nvidia(const DeviceLimits& limits);
/// From Hopper (compute capability 9.0) on: bulk copies to LDS, mbarriers that count bytes, clusters of blocks.
bool has_copy_engine(const DeviceLimits& limits);

}  // namespace wavetune::templates
