// A first guess at what the matrix paths of NVIDIA GPUs take (templates/gemm: stream and warpgroup): good for an order
// of what is measured first, not calibrated on published kernels as the model of CDNA is.
#pragma once

#include <optional>

#include "search/predict/gemm_model.h"
#include "templates/operator.h"

namespace wavetune::predict {

/// True for configurations of those paths.
bool on_nvidia_path(const templates::Config& config);

/// One launch of `products` products of `shape` (experts, batches), each reading weights of its own.
double nvidia_gemm_us(const Machine& machine, NumberFormat format, const GemmShape& shape, double products,
                      const templates::Config& config, std::optional<int> waves_per_simd);

}  // namespace wavetune::predict
