// Path 3 of mla_attention: NVIDIA GPUs from Hopper on, bf16 (tensor.hip). Its parameters beside the family's: stages of
// the ring of tiles, cluster (blocks that put the parts of a list together by themselves), overlap with the kernels
// before and after.
#pragma once

#include "templates/mla_attention/geometry.h"

namespace wavetune::templates {

inline constexpr std::int64_t tensor_path = 3;

bool is_tensor_path(const Config& config);

/// Whether the device has the instructions and the LDS, and rows of the cache suit them: then there is only this path.
bool tensor_fits(const AttentionDims& d, const DeviceLimits& limits);

Space tensor_space(const AttentionDims& d, const DeviceLimits& limits);
Config tensor_default(const AttentionDims& d, const DeviceLimits& limits);

std::int64_t tensor_lds_bytes(const Config& config, const AttentionDims& d);
std::int64_t tensor_workspace_bytes(const Config& config, const AttentionDims& d);

std::vector<std::string> tensor_source_files();
std::vector<std::string> tensor_files(const Config& config);

/// What launches() needs beside the kernel's parameters. Blocks of a cluster are launched even when the list is too
/// short for all of them.
struct TensorGrid {
  TensorGrid(const Config& config, const AttentionDims& d);
  std::int64_t part_length, parts;
  bool combines;  ///< by a second kernel, with a workspace
};
/// The kernels of a call whose parameter struct is `params`.
std::vector<Launch> tensor_launches(const Config& config, const AttentionDims& d, std::vector<std::byte> params);

}  // namespace wavetune::templates
