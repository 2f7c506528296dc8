// Test data and reference of grouped_gemm.
#pragma once

#include <random>
#include <span>

#include "templates/operator.h"

namespace wavetune::templates {

/// A problem's dimensions.
struct GroupedDims {
  explicit GroupedDims(const Problem& p);
  std::int64_t m, topk, experts, n, k, swiglu;
  DType type;
  std::int64_t pairs() const { return m * topk; }
  std::int64_t parts() const { return swiglu + 1; }
  std::int64_t x_rows() const { return swiglu != 0 ? m : pairs(); }
};

void grouped_gemm_fill(const GroupedDims& d, std::mt19937_64& random, std::span<HostTensor> tensors);
void grouped_gemm_reference(const GroupedDims& d, std::span<HostTensor> tensors);

}  // namespace wavetune::templates
