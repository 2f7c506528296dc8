// Host side of product.hip: the parameters and constraints of a block tile of C = A B^T, shared by gemm and
// grouped_gemm.
#pragma once

#include "templates/common/launch.h"

namespace wavetune::templates {

/// Values of the parameter "path"; what each does stands in product.hip.
namespace product_path {
inline constexpr std::int64_t direct = 0;
inline constexpr std::int64_t staged = 1;
inline constexpr std::int64_t matrix = 2;
inline constexpr std::int64_t matrix_direct = 3;
inline constexpr std::int64_t shared_k = 4;
}  // namespace product_path

/// What the space depends on.
struct ProductShape {
  DType type = DType::f32;  ///< of A and B
  int parts = 1;            ///< column parts that one worker computes together: 2 for gate and up of SwiGLU
  std::int64_t m = 1;       ///< rows that share one B (of one expert, for grouped_gemm)
  std::int64_t n = 1;       ///< columns of one part
  std::int64_t k = 1;
};

/// Parameters path, bm, bn, bk, tm, tn, vec, split_k with their constraints. A configuration with bm <= 64 is valid for
/// all m.
Space product_space(const ProductShape& shape, const DeviceLimits& limits);
Config product_default(const ProductShape& shape, const DeviceLimits& limits);

std::int64_t product_threads(const Config& config);
/// Dynamic LDS of a block.
std::int64_t product_lds_bytes(const Config& config, DType type, int parts);
/// dtype, bm, bn, bk, tm, tn, vec, path and threads. Not split_k: it is a launch parameter, so its values share one
/// code object.
db::NamedInts product_constants(const Config& config, DType type);
/// Elements of k that one of split_k parts takes: a multiple of bk and 64, so that parts begin aligned. The last parts
/// may be shorter or empty.
std::int64_t product_k_part(const Config& config, std::int64_t k);

/// For sums of k products of about unit variance in total, stored as `output`.
Tolerance product_tolerance(DType input, DType output);

/// Reference: c[i * n + j] = sum over k of a[i, k] * b[j, k] in double, for dense row-major floats.
std::vector<double> multiply_transposed(std::span<const float> a, std::span<const float> b, std::int64_t m,
                                        std::int64_t n, std::int64_t k);
/// Elements [begin, begin + count) of a tensor as floats.
std::vector<float> to_floats(const HostTensor& tensor, std::int64_t begin, std::int64_t count);

}  // namespace wavetune::templates
