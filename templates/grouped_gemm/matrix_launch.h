// Launches of grouped_gemm on the matrix paths (grouped_matrix.hip).
#pragma once

#include <vector>

#include "templates/grouped_gemm/reference.h"

namespace wavetune::templates {

MatrixShape grouped_matrix_shape(const GroupedDims& d);

/// A call's operands by name; those that the format has not are empty.
struct GroupedViews {
  /// Throws Error usage when x or w do not begin at multiples of 16 bytes.
  GroupedViews(const GroupedDims& d, const Call& call);
  View x, w, scale_x, scale_w, order, offsets, out;
};

/// Operands in the order of the operator. Throws Error usage for operands that do not begin at multiples of 16 bytes,
/// or of 4 GiB and more (activations, outputs, one expert's weights).
std::vector<Launch> grouped_matrix_launches(const GroupedDims& d, const Config& config, const Call& call);

}  // namespace wavetune::templates
