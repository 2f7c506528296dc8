// Space and geometry of the kernels that are built on common/tile.hip: every element stands alone.
#pragma once

#include "templates/common/launch.h"

namespace wavetune::templates {

/// The source files of such a kernel: what it is built on, and its own.
std::vector<std::string> tile_kernel(std::string file);

/// Parameters threads, threads_per_row, vec (elements an access) and items (vectors a thread).
Space tile_space(DType type, const DeviceLimits& limits);
Config tile_default(DType type, const DeviceLimits& limits);

/// Grid and block over a [rows, cols] matrix.
Launch tile_launch(std::string kernel, const Config& config, std::int64_t rows, std::int64_t cols);

/// For results of a few float operations stored in `type`; `absolute` bounds the error where terms cancel.
Tolerance elementwise_tolerance(DType type, double absolute = 1e-6);

/// Vector widths that one access of `type` can have on a device: up to 16 bytes, on a CPU up to 32.
std::vector<std::int64_t> vector_widths(DType type, const DeviceLimits& limits);

}  // namespace wavetune::templates
