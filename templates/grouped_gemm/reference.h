// Test data and reference of grouped_gemm.
#pragma once

#include <algorithm>
#include <random>
#include <span>

#include "templates/gemm/matrix.h"
#include "templates/operator.h"

namespace wavetune::templates {

/// A problem's dimensions and number format.
struct GroupedDims {
  explicit GroupedDims(const Problem& p);
  std::int64_t m, topk, experts, n, k, swiglu;
  MatrixFormat format;
  std::int64_t pairs() const { return m * topk; }
  std::int64_t parts() const { return swiglu + 1; }
  std::int64_t x_rows() const { return swiglu != 0 ? m : pairs(); }
  /// Tiles of `bm` rows that the grid has: as many as any routing can make, or one for each pair when those are fewer
  /// (slots.hip).
  std::int64_t slots(std::int64_t bm) const { return std::min(pairs(), pairs() / bm + experts); }
  bool slots_by_row(std::int64_t bm) const { return slots(bm) == pairs(); }
};

/// Places of the operands: x, [x_scale], w, [w_scale], order, offsets, out; -1 for scales that the format has not.
struct GroupedOperands {
  explicit GroupedOperands(const MatrixFormat& format)
      : scale_x(format.scale_x == Scaling::none ? -1 : 1),
        w(scale_x < 0 ? 1 : 2),
        scale_w(format.scale_w == Scaling::none ? -1 : w + 1),
        order(scale_w < 0 ? w + 1 : scale_w + 1) {}
  int scale_x, w, scale_w, order;
  int offsets() const { return order + 1; }
  int out() const { return order + 2; }
};

void grouped_gemm_fill(const GroupedDims& d, std::mt19937_64& random, std::span<HostTensor> tensors);
void grouped_gemm_reference(const GroupedDims& d, std::span<HostTensor> tensors);

/// The same on the device, and a sample of it (Operator::reference_launch, reference_sample).
Launch grouped_gemm_reference_launch(const GroupedDims& d, std::span<void* const> buffers);
ReferenceSample grouped_gemm_reference_sample(const GroupedDims& d, std::span<const HostTensor> inputs);

}  // namespace wavetune::templates
