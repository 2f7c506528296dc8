// Path `narrow` of gemm (narrow.hip): few rows of X on compute capability 9.0a, W through the copy engine as the rows
// of warpgroups' matrix instructions. Its part of the space, constants and launches; templates/gemm/nvidia.h joins the
// paths.
#pragma once

#include "templates/gemm/matrix.h"

namespace wavetune::templates {

namespace matrix_path {
inline constexpr std::int64_t narrow = 9;
}

/// bf16, bf16_f32, fp8_token, fp8_block, bf16_mxfp4 and fp8_mxfp4 on sm_90a for up to 32 rows of X, with rows of whole
/// 16-byte chunks.
bool has_narrow(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

/// Adds the values of this path to those that a space has: bm (rows of X), bn (rows of W, 64 for each of wn
/// warpgroups), bk (a step), stages, wn, wk (warpgroups that take steps in turns), split_k (parts of k that the blocks
/// of a cluster share), overlap, and those that it has no use for.
std::vector<std::int64_t> narrow_values(std::string_view parameter, const MatrixFormat& format);
/// Constraints that hold where `path` is narrow; other configurations pass.
void require_narrow(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

db::NamedInts narrow_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config);
/// All files but those that have the kernels (templates/gemm/narrow_gemm.hip), and what a configuration needs of them.
std::vector<std::string> narrow_files();
std::vector<std::string> narrow_files(const Config& config);

std::int64_t narrow_threads(const Config& config);
/// Dynamic LDS of a block, and the static LDS beside it.
std::int64_t narrow_lds_bytes(const MatrixFormat& format, std::int64_t k, const Config& config);
std::int64_t narrow_static_lds_bytes(const Config& config);
/// Registers of a lane, about.
std::int64_t narrow_registers(const MatrixFormat& format);

std::vector<Launch> narrow_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views);

}  // namespace wavetune::templates
