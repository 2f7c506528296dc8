// The reference of gemm and grouped_gemm on the device (reference.hip), and the sample of outputs, computed here, that
// it is held to.
#pragma once

#include <cstdint>
#include <vector>

#include "templates/gemm/matrix.h"
#include "templates/operator.h"

namespace wavetune::templates {

/// Groups of rows of X, each times the weights of its group: batches of gemm, experts of grouped_gemm.
struct ReferenceProduct {
  MatrixFormat format;
  std::int64_t groups, rows;  ///< of a group at most
  std::int64_t x_rows;        ///< of X, of one batch
  std::int64_t n, k;
  bool swiglu = false;
  std::int64_t topk = 1;
};

/// Dense, in rows, on the device; null where the format has none. order and offsets only of grouped_gemm.
struct ReferenceBuffers {
  const void *x, *x_scale, *w, *w_scale, *order, *offsets;
  void* out;
};

Launch product_reference_launch(const ReferenceProduct& product, const ReferenceBuffers& buffers);

/// `most` of 0 .. count - 1, ascending, one from each of as many equal stretches, the first and the last among them: no
/// row or column of tiles goes without. The same for the same count.
std::vector<std::int64_t> spread_over(std::int64_t count, std::int64_t most);

/// Rows and columns that a sample is made of: each row with each column.
inline constexpr std::int64_t sampled_rows = 64, sampled_columns = 48;

}  // namespace wavetune::templates
