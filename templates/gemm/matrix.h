// The matrix paths of the gemm operator: which number formats they multiply, their parameter space, constants and
// launches. Those on AMD CDNA are here (templates/gemm/matrix_gemm.hip is the kernel); what is said of NVIDIA GPUs and
// their configurations is handed on to templates/gemm/nvidia.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "templates/operator.h"

namespace wavetune::templates {

/// How an operand is scaled: not at all, in groups of 128 elements of k (of W: blocks of 128 x 128), mx blocks of 32,
/// or whole rows (tokens of X, channels of W). The codes are those of cfg::scale_x and cfg::scale_w.
enum class Scaling { none = 0, group = 1, mx = 2, row = 3 };

/// What a dtype text of the operator stands for: X[m, k] (activations) times W[n, k]^T (weights).
struct MatrixFormat {
  DType x, w;
  Scaling scale_x, scale_w;
  DType out;
  /// k elements of one step: of one instruction with `tile` rows, or of the several that use up 16 bytes of the
  /// narrower operand (templates/gemm/operand.hip).
  std::int64_t step_k(std::int64_t tile) const;
  bool quantised() const { return scale_x != Scaling::none || scale_w != Scaling::none; }
};

/// cfg::format_x and cfg::format_w: 16 bf16, 0 fp8, 4 fp4; the latter two as gfx950's instructions have them.
std::int64_t format_code(DType type);

/// "bf16", "bf16_f32" (float32 output), "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"; nothing for
/// others.
std::optional<MatrixFormat> matrix_format(std::string_view dtype);

/// Values of the parameter `path`; those below belong to templates/gemm/product.h.
namespace matrix_path {
inline constexpr std::int64_t tile = 5, skinny = 6;
}
bool is_matrix_path(const Config& config);

/// With `column_parts` 2 the columns are those of gate and up, n of each, one run below the other in every wave's tile.
/// `grouped`: rows of X are gathered and many products share a launch; their order and stream-K are not parameters
/// then.
struct MatrixShape {
  std::int64_t batch, m, n, k;
  std::int64_t column_parts = 1;
  bool grouped = false;
};

/// Whether the paths can take this at all on the device: CDNA's waves and formats, rows of whole 16-byte chunks.
bool has_matrix_paths(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

Space matrix_space(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
Config matrix_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
db::NamedInts matrix_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config);
/// All files of the paths, and those that a configuration needs, without the one with the kernels.
std::vector<std::string> matrix_files();
std::vector<std::string> matrix_files(const Config& config);

std::int64_t matrix_threads(const Config& config);
/// LDS of the main kernel in bytes: what templates/gemm/tile.hip and skinny.hip, or NVIDIA's paths, use.
std::int64_t matrix_lds_bytes(const MatrixFormat& format, const Config& config);
/// Registers of a lane for sums, fragments, scales and addresses: an upper estimate, by which configurations are left
/// out of the space that would spill.
std::int64_t matrix_registers(const MatrixFormat& format, const Config& config);

std::int64_t matrix_workspace_bytes(const MatrixShape& shape, const Config& config);

/// What a launch says about one operand: sizes in bytes.
struct MatrixOperand {
  std::int64_t stride;      ///< from row to row; shuffled: from 16 rows to the next
  std::int64_t bytes;       ///< of all rows
  std::int64_t row_chunks;  ///< 16-byte chunks of a row
};
MatrixOperand matrix_operand(DType type, std::int64_t rows, std::int64_t k, std::int64_t row_stride, bool shuffled);
/// The same of its scales.
struct MatrixScales {
  std::int64_t stride = 0;  ///< mx: from 32 rows to the next; groups: from group to group
  std::int64_t bytes = 0;
};
MatrixScales matrix_scales(Scaling scaling, bool weights, std::int64_t rows, std::int64_t k, std::int64_t row_stride);
/// Blocks of 32 or groups of 128 elements in k.
std::int64_t matrix_scale_blocks(const MatrixFormat& format, std::int64_t k);

/// Operands of a launch; scales are null where the format has none. Shuffled operands are dense.
struct MatrixViews {
  View x, w, c, scale_x, scale_w;
  void* workspace;
};
/// Throws Error usage when an operand does not begin at a multiple of 16 bytes or its rows do not.
std::vector<Launch> matrix_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views);

}  // namespace wavetune::templates
