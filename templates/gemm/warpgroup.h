// Path `warpgroup` of gemm and grouped_gemm (warpgroup.hip): matrix instructions of warpgroups on compute capability
// 9.0a, for tens of rows and more. Its part of the space, constants and launches; templates/gemm/nvidia.h joins the
// paths.
#pragma once

#include "templates/gemm/matrix.h"

namespace wavetune::templates {

namespace matrix_path {
inline constexpr std::int64_t warpgroup = 8;
}

/// bf16, bf16_f32, fp8_token, fp8_block and bf16_mxfp4 on sm_90a, with rows of whole 16-byte chunks.
bool has_warpgroup(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

/// Adds the values of this path to those that a space has: bm, bn, bk, stages, wm, wn, split_k (parts of k that the
/// blocks of a cluster share), group_m, multicast (blocks of a cluster that get the same rows of W from one copy),
/// overlap, and shuffled.
std::vector<std::int64_t> warpgroup_values(std::string_view parameter, const MatrixFormat& format);
/// Constraints that hold where `path` is warpgroup; other configurations pass.
void require_warpgroup(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
/// Values of those parameters that work for every m.
Config warpgroup_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

db::NamedInts warpgroup_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config);
/// All files but those that have the kernels (templates/gemm/warpgroup_gemm.hip), and what a configuration needs of
/// them.
std::vector<std::string> warpgroup_files();
std::vector<std::string> warpgroup_files(const Config& config);

std::int64_t warpgroup_threads(const Config& config);
/// Dynamic LDS of a block, and the most of static LDS beside it.
std::int64_t warpgroup_lds_bytes(const MatrixFormat& format, const Config& config);
inline constexpr std::int64_t warpgroup_static_lds_bytes = 2 * 8 * 8;  // barriers of at most 8 stages
/// Registers of a lane: what the kernel is compiled for, by its number of threads.
std::int64_t warpgroup_registers(const Config& config);

/// Bytes of a row of W in a stage.
std::int64_t warpgroup_row_bytes_w(const MatrixFormat& format);
/// Steps of k, a stage each: 128 bytes of it, or 128 elements with fp4.
std::int64_t warpgroup_steps(const MatrixFormat& format, std::int64_t k);
/// Blocks of a launch with `units` tiles: all of them with split_k, otherwise as many as the device runs at a time.
std::int64_t warpgroup_blocks(const Config& config, std::int64_t units);

std::vector<Launch> warpgroup_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                       const MatrixViews& views);

}  // namespace wavetune::templates
