// What kernels may use of NVIDIA's GPUs, by generation.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// From Hopper (compute capability 9.0) on: bulk copies to LDS, mbarriers that count bytes, clusters of blocks.
bool has_copy_engine(const DeviceLimits& limits);

/// Throws Error usage when rows of the operand do not begin at multiples of 16 bytes, as bulk copies need.
void require_bulk_rows(const View& view, DType type, std::string_view op, std::string_view operand);

}  // namespace wavetune::templates
