// Space and geometry of the normalisations: a whole row is worked on by threads_per_row threads of one block.
#pragma once

#include "templates/common/launch.h"

namespace wavetune::templates {

/// The source files of such a kernel: what it is built on, and its own.
std::vector<std::string> norm_kernel(std::string file);

/// Parameters threads, threads_per_row, vec (elements an access).
Space norm_space(DType type, const DeviceLimits& limits);
Config norm_default(DType type, const DeviceLimits& limits);
/// LDS of rows::sum (templates/common/reduce.hip): a float for each wave and one more; none when a row fits in a wave.
std::int64_t norm_lds_bytes(const Config& config, const DeviceLimits& limits);
Launch norm_launch(std::string kernel, const Config& config, std::int64_t rows);

/// The result is rounded twice (before and after the weight), or cancels against the bias.
Tolerance norm_tolerance(DType type);

/// residual += x for residual = 1; returns the tensor that is normalised. `tensors` in operand order.
const HostTensor& norm_reference_input(const Problem& problem, std::span<HostTensor> tensors);

}  // namespace wavetune::templates
