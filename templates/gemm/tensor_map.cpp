#include "templates/gemm/tensor_map.h"

#include <algorithm>

#include "db/base/error.h"

namespace wavetune::templates {

// The layout is the hardware's; it is what cuTensorMapEncodeTiled of the CUDA driver writes and what the instruction
// tensormap.replace fills in. It is written here because parameter structs are made without a driver at hand.
//   word 0        address
//   word 1        bits 0-31: element type (u8: 0), rank - 1 in bits 4-6, swizzle in bits 13-14, and so on; bits 32-63
//                 and words 2 and 3: strides of the second and further dimensions, in 16 bytes, 32 bits each
//   words 4 to 6  sizes of the dimensions - 1, 32 bits each; from bit 32 of word 6 on: element strides - 1
//   word 6        bits 56-63 and word 7: sizes of the box - 1, 8 bits each
//   word 8        bytes of the box
//   word 9        bytes after which the swizzle repeats
TensorMap tensor_map(const ByteMatrices& operand, std::int64_t box_bytes, std::int64_t box_rows) {
  constexpr std::int64_t unit = 16, most = std::int64_t{1} << 32;
  const auto address = reinterpret_cast<std::uintptr_t>(operand.data);
  // The stride of a dimension that has one element does not count, but must be a valid one.
  const std::int64_t row_stride = operand.rows > 1 ? operand.row_stride : (operand.row_bytes + unit - 1) / unit * unit;
  const std::int64_t matrix_stride = operand.matrices > 1 ? operand.matrix_stride : row_stride;
  if (address % unit != 0 || row_stride % unit != 0 || matrix_stride % unit != 0) {
    fail(ErrorKind::usage,
         "tensor copies need rows that begin at multiples of {} bytes; row stride {}, matrix stride {}", unit,
         row_stride, matrix_stride);
  }
  if (std::max(row_stride, matrix_stride) / unit >= most || operand.row_bytes > most || operand.rows > most ||
      operand.matrices > most) {
    fail(ErrorKind::usage, "tensor copies: {} matrices of {} rows of {} bytes, {} and {} bytes apart, are too large",
         operand.matrices, operand.rows, operand.row_bytes, matrix_stride, row_stride);
  }
  // Type u8, three dimensions, swizzle, zeros outside.
  const std::uint64_t kind = box_bytes == 64 ? 0x4020 : 0x6020;
  const auto u64 = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  TensorMap map;
  map.words[0] = address;
  map.words[1] = kind | u64(row_stride / unit) << 32;
  map.words[2] = u64(matrix_stride / unit);
  map.words[4] = u64(operand.row_bytes - 1) | u64(operand.rows - 1) << 32;
  map.words[5] = u64(operand.matrices - 1);
  map.words[6] = u64(box_bytes - 1) << 56;
  map.words[7] = u64(box_rows - 1);
  map.words[8] = u64(box_bytes * box_rows);
  map.words[9] = u64(8 * box_bytes);
  return map;
}

}  // namespace wavetune::templates
