// The matrix paths of gemm and grouped_gemm on NVIDIA GPUs together: stream and, for gemm alone, narrow (few rows of
// X), and warpgroup (tens and more). templates/gemm/matrix.h hands on to what is here.
#pragma once

#include "templates/gemm/matrix.h"

namespace wavetune::templates {

/// Whether a configuration, of a matrix path, is one of these paths'.
bool is_nvidia_path(const Config& config);

bool has_nvidia_paths(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);

Space nvidia_space(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
Config nvidia_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits);
db::NamedInts nvidia_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config);

/// All files of the paths, and those that a configuration needs. `kernel` is the name of the kernels' files after the
/// path's: "gemm" for templates/gemm/stream_gemm.hip. `narrow`: with that path's.
std::vector<std::string> nvidia_files(std::string_view folder, std::string_view kernel, bool narrow);
std::vector<std::string> nvidia_files(const Config& config, std::string_view folder, std::string_view kernel);

std::int64_t nvidia_threads(const Config& config);
/// LDS of a block: all of it, and the part that the kernel declares with a fixed size.
std::int64_t nvidia_lds_bytes(const MatrixFormat& format, const Config& config);
std::int64_t nvidia_static_lds_bytes(const Config& config);
std::int64_t nvidia_registers(const MatrixFormat& format, const Config& config);

std::vector<Launch> nvidia_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views);

}  // namespace wavetune::templates
