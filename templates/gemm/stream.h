// Path `stream` of gemm and grouped_gemm (stream_shape.hip): few rows of X on NVIDIA GPUs, bound by the bytes of W. Its
// part of the space, constants and launches; templates/gemm/nvidia.h joins the paths.
#pragma once

#include "templates/gemm/matrix.h"

namespace wavetune::templates {

namespace matrix_path {
inline constexpr std::int64_t stream = 7;
}

/// All formats but fp4 x fp4, from compute capability 9.0 on (fp8 x fp4: on sm_90a), with rows of whole 16-byte chunks.
bool has_stream(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

/// Values of this path's parameters: bm, bn, bk (elements of k in a turn's stage), stages, wn, wk, split_k, shuffled,
/// overlap; {1} for others.
std::vector<std::int64_t> stream_values(std::string_view parameter, const MatrixFormat& format);
/// Constraints that hold where `path` is stream; other configurations pass.
void require_stream(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
/// Values of those parameters that work for every m.
Config stream_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

db::NamedInts stream_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config);
/// Without the file that has the kernel: templates/gemm/stream_gemm.hip.
std::vector<std::string> stream_files();

std::int64_t stream_threads(const Config& config);
/// Dynamic LDS of a block.
std::int64_t stream_lds_bytes(const MatrixFormat& format, std::int64_t k, const Config& config);
/// Registers of a lane, about.
std::int64_t stream_registers(const MatrixFormat& format, const Config& config);

/// How a launch walks k: stages of the block (wk x bk elements), and those of each of split_k parts.
struct StreamStages {
  std::int64_t all, part;
};
StreamStages stream_stages(const Config& config, std::int64_t k);
/// Bytes from one row of scales to the next: of groups of k for X; of units of 32 rows (mx) or blocks of 128 for W.
std::int64_t stream_scale_stride(Scaling scaling, std::int64_t k, std::int64_t row_stride);

std::vector<Launch> stream_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views);

}  // namespace wavetune::templates
