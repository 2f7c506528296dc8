#include "templates/gemm/nvidia.h"

#include <fmt/format.h>

#include <set>

#include "templates/common/launch.h"
#include "templates/gemm/narrow.h"
#include "templates/gemm/stream.h"
#include "templates/gemm/warpgroup.h"

namespace wavetune::templates {
namespace {

constexpr const char* overlap_file = "templates/common/overlap.hip";

bool is_stream(const Config& config) { return parameter(config, "path") == matrix_path::stream; }
bool is_narrow(const Config& config) { return parameter(config, "path") == matrix_path::narrow; }

std::string kernel_file(std::string_view path, std::string_view folder, std::string_view kernel) {
  return fmt::format("{}/{}_{}.hip", folder, path, kernel);
}

}  // namespace

bool is_nvidia_path(const Config& config) { return parameter(config, "path") >= matrix_path::stream; }

bool has_nvidia_paths(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  return has_stream(format, shape, limits) ||
         has_warpgroup(format, shape, limits);  // and what narrow takes, stream does
}

Space nvidia_space(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const bool warpgroup = has_warpgroup(format, shape, limits);
  // Rows beyond what the stream path reads at once would read W again.
  const bool stream = has_stream(format, shape, limits) && (shape.m <= 128 || !warpgroup);
  const bool narrow = has_narrow(format, shape, limits);
  Space space;
  // Cheap constraints are due first when the last parameters are chosen first.
  for (const char* name :
       {"overlap", "shuffled", "group_m", "multicast", "split_k", "stages", "bk", "bn", "bm", "wn", "wm", "wk"}) {
    std::set<std::int64_t> values;
    const auto add = [&values](const std::vector<std::int64_t>& more) { values.insert(more.begin(), more.end()); };
    if (stream) add(stream_values(name, format));
    if (warpgroup) add(warpgroup_values(name, format));
    if (narrow) add(narrow_values(name, format));
    space.add(name, {values.begin(), values.end()});
  }
  std::vector<std::int64_t> paths;
  if (stream) paths.push_back(matrix_path::stream);
  if (warpgroup) paths.push_back(matrix_path::warpgroup);
  if (narrow) paths.push_back(matrix_path::narrow);
  space.add("path", paths);
  if (stream) require_stream(space, format, shape, limits);
  if (narrow) require_narrow(space, format, shape, limits);
  if (warpgroup) {
    require_warpgroup(space, format, shape, limits);
    space.require("shuffled weights are the stream path's", {"path", "shuffled"},
                  [](const Config& c) { return c.at("path") != matrix_path::warpgroup || c.at("shuffled") == 0; });
  }
  return space;
}

Config nvidia_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  if (shape.m <= 16 || !has_warpgroup(format, shape, limits)) return stream_default(format, shape, limits);
  Config config = warpgroup_default(format, shape, limits);
  config["shuffled"] = 0;
  return config;
}

db::NamedInts nvidia_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config) {
  if (is_narrow(config)) return narrow_constants(format, shape, config);
  return is_stream(config) ? stream_constants(format, shape, config) : warpgroup_constants(format, shape, config);
}

std::vector<std::string> nvidia_files(std::string_view folder, std::string_view kernel, bool narrow) {
  std::vector<std::string> files = stream_files();
  for (std::string& file : warpgroup_files()) files.push_back(std::move(file));
  for (const char* path : {"stream", "warpgroup"}) files.push_back(kernel_file(path, folder, kernel));
  if (narrow) {
    for (std::string& file : narrow_files()) files.push_back(std::move(file));
    files.push_back(kernel_file("narrow", folder, kernel));
  }
  files.emplace_back(overlap_file);
  return files;
}

std::vector<std::string> nvidia_files(const Config& config, std::string_view folder, std::string_view kernel) {
  const bool narrow = is_narrow(config), stream = is_stream(config);
  std::vector<std::string> files = narrow ? narrow_files(config) : stream ? stream_files() : warpgroup_files(config);
  files.push_back(kernel_file(narrow ? "narrow" : stream ? "stream" : "warpgroup", folder, kernel));
  if (parameter(config, "overlap") == 1) files.emplace_back(overlap_file);
  return files;
}

std::int64_t nvidia_threads(const Config& config) {
  if (is_narrow(config)) return narrow_threads(config);
  return is_stream(config) ? stream_threads(config) : warpgroup_threads(config);
}

std::int64_t nvidia_lds_bytes(const MatrixFormat& format, const Config& config) {
  constexpr std::int64_t usual_k = 6144;  // what it depends on where all of X lies in LDS
  if (is_narrow(config)) return narrow_lds_bytes(format, usual_k, config) + narrow_static_lds_bytes(config);
  return is_stream(config) ? stream_lds_bytes(format, usual_k, config)
                           : warpgroup_lds_bytes(format, config) + nvidia_static_lds_bytes(config);
}

std::int64_t nvidia_static_lds_bytes(const Config& config) {
  if (is_narrow(config)) return narrow_static_lds_bytes(config);
  // The warpgroup path's: two barriers for each stage.
  return is_stream(config) ? 0 : 2 * 8 * parameter(config, "stages");
}

std::int64_t nvidia_registers(const MatrixFormat& format, const Config& config) {
  if (is_narrow(config)) return narrow_registers(format);
  return is_stream(config) ? stream_registers(format, config) : warpgroup_registers(config);
}

std::vector<Launch> nvidia_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views) {
  if (is_narrow(config)) return narrow_launches(format, shape, config, views);
  return is_stream(config) ? stream_launches(format, shape, config, views)
                           : warpgroup_launches(format, shape, config, views);
}

}  // namespace wavetune::templates
