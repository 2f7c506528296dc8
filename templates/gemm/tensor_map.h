// Tensor maps of compute capability 9.0: what a kernel's tensor copies (templates/prelude/cuda_wgmma.hip) need to know
// of an operand in memory.
#pragma once

#include <array>
#include <cstdint>

namespace wavetune::templates {

/// The 128 bytes that the copy engine reads, in a parameter struct aligned to 64 bytes.
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> words{};
};

/// `matrices` matrices of `rows` rows of `row_bytes` bytes.
struct ByteMatrices {
  const void* data;
  std::int64_t row_bytes, rows, matrices;
  std::int64_t row_stride, matrix_stride;  ///< in bytes
};

/// A map for copies of `box_bytes` (64 or 128) bytes of `box_rows` rows, which land in LDS in the swizzle of that many
/// bytes. Throws Error usage when the operand cannot be described: it begins or strides at other than multiples of 16
/// bytes, or is too large.
TensorMap tensor_map(const ByteMatrices& operand, std::int64_t box_bytes, std::int64_t box_rows);

}  // namespace wavetune::templates
