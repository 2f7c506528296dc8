#include "templates/gemm/narrow.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/common/launch.h"
#include "templates/gemm/arrange.h"
#include "templates/gemm/tensor_map.h"

namespace wavetune::templates {
namespace {

/// Bytes of k that a step takes of a row of W; what stages are aligned to; rows of W of a warpgroup and of a copy.
constexpr std::int64_t row_bytes = 128, alignment = 1024, group_rows = 64;
constexpr std::int64_t scale_unit_bytes = scale_unit_rows * scale_unit_cols;
constexpr std::int64_t most_rows_x = 32;
/// Blocks that an H100 or an H200 (SXM) has room for beside each other. Clusters lie within a part of the device that
/// has 14 to 18 of the 132 multiprocessors, so that large ones leave some of them out. Were there more, some came
/// later.
constexpr std::int64_t multiprocessors = 132, in_large_clusters = 112;
/// Rings of a block, in bytes: for two blocks on a multiprocessor, or for one. The largest that fits into one of them.
constexpr std::int64_t ring_sizes[] = {64 << 10, 96 << 10, 160 << 10};
constexpr std::int64_t largest_ring_of_two = ring_sizes[1];
constexpr std::int64_t registers_of_multiprocessor = 65536;
constexpr const char* cluster_file = "templates/gemm/narrow_cluster.hip";

/// A configuration's parameters, by field.
struct Tiles {
  explicit Tiles(const Config& c)
      : bm(c.at("bm")),
        bn(c.at("bn")),
        stages(c.at("stages")),
        wn(c.at("wn")),
        wk(c.at("wk")),
        split(c.at("split_k")) {}
  std::int64_t bm, bn, stages, wn, wk, split;
};

bool is_mx(const MatrixFormat& format) { return format.scale_w == Scaling::mx; }

std::int64_t step_elements(const MatrixFormat& format) { return 8 * row_bytes / bytes_of(format.w, 8); }

std::int64_t stage_bytes(const MatrixFormat& format, std::int64_t bn) {
  const std::int64_t scales = is_mx(format) ? bn / scale_unit_rows * scale_unit_bytes : 0;
  return ceil_div(bn * row_bytes + scales, alignment) * alignment;
}

/// Sums of a thread, and those that each block of a cluster adds up.
std::int64_t sums(std::int64_t bm) { return bm / 2; }
std::int64_t sums_of_block(std::int64_t bm, std::int64_t split) { return ceil_div(sums(bm), split); }

/// Steps of k of the block that has the most.
std::int64_t part_steps(const MatrixFormat& format, std::int64_t k, std::int64_t split) {
  return ceil_div(ceil_div(k, step_elements(format)), split);
}

/// Blocks that a multiprocessor is to have room for.
std::int64_t blocks_beside(const MatrixFormat& format, const Config& config) {
  const Tiles t(config);
  const bool room = t.stages * stage_bytes(format, t.bn) <= largest_ring_of_two &&
                    2 * narrow_threads(config) * narrow_registers(format) <= registers_of_multiprocessor;
  return room ? 2 : 1;
}

/// Layout of Params in narrow_gemm.hip.
struct Params {
  TensorMap w, x_map;
  const void *x, *scale_x, *scale_w;
  void* c;
  std::int64_t x_stride, x_batch, c_stride, c_batch, scale_x_stride, scale_w_stride;
  std::int32_t m, n, batch, steps, part_steps, x_chunks, scale_rows, scale_cols;
};

}  // namespace

bool has_narrow(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const bool known = format.x == DType::bf16 ? format.w == DType::bf16 || format.w == DType::fp4
                                             : format.x == DType::fp8 && format.w != DType::bf16;
  const bool chunks = bytes_of(format.x, shape.k) % 16 == 0 && bytes_of(format.w, shape.k) % 16 == 0;
  return limits.arch == "sm_90a" && known && chunks && !shape.grouped && shape.m <= most_rows_x &&
         shape.k >= 2 * step_elements(format);
}

std::vector<std::int64_t> narrow_values(std::string_view parameter, const MatrixFormat& format) {
  if (parameter == "bm") return {8, 16, 32};
  if (parameter == "bn") return {64, 128, 192, 256};
  if (parameter == "bk") return {step_elements(format)};
  if (parameter == "stages") {
    std::vector<std::int64_t> all;
    for (const std::int64_t bn : narrow_values("bn", format)) {
      for (const std::int64_t ring : ring_sizes) all.push_back(ring / stage_bytes(format, bn));
    }
    return all;
  }
  if (parameter == "wn") return {1, 2, 3, 4};
  if (parameter == "wk") return {1, 2, 4};
  if (parameter == "split_k") return {1, 2, 3, 4, 8};
  if (parameter == "shuffled") return {0};
  return {1};
}

void require_narrow(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const auto require = [&](std::string text, std::vector<std::string> names, std::function<bool(const Config&)> holds) {
    names.emplace_back("path");
    space.require(std::move(text), std::move(names), [holds = std::move(holds)](const Config& c) {
      return c.at("path") != matrix_path::narrow || holds(c);
    });
  };
  for (const char* name :
       {"bm", "bn", "bk", "stages", "wm", "wn", "wk", "split_k", "group_m", "multicast", "shuffled", "overlap"}) {
    require(fmt::format("{} is one of the narrow path's", name), {name},
            [name, values = narrow_values(name, format)](const Config& c) {
              return std::ranges::find(values, c.at(name)) != values.end();
            });
  }
  require("bm takes all rows of X", {"bm"},
          [rows = std::clamp<std::int64_t>(power_of_two_above(shape.m), 8, most_rows_x)](const Config& c) {
            return c.at("bm") == rows;
          });
  require("a warpgroup has 64 rows of W, a block at most four warpgroups", {"bn", "wn", "wk"},
          [](const Config& c) { return c.at("bn") == group_rows * c.at("wn") && c.at("wn") * c.at("wk") <= 4; });
  require("the tile is not much larger than W", {"bn"},
          [n = shape.n](const Config& c) { return c.at("bn") <= std::max(group_rows, power_of_two_above(n)); });
  require("the ring is the largest that leaves room for two blocks, for more of X, or for one block", {"bn", "stages"},
          [format](const Config& c) {
            const std::int64_t bytes = stage_bytes(format, c.at("bn"));
            return c.at("stages") >= 3 &&
                   std::ranges::any_of(ring_sizes, [&](std::int64_t ring) { return c.at("stages") == ring / bytes; });
          });
  require("the blocks of a cluster, all or all but one, have sums to add up, and a few steps", {"bm", "split_k"},
          [steps = ceil_div(shape.k, step_elements(format))](const Config& c) {
            const std::int64_t split = c.at("split_k"), bm = c.at("bm");
            return (split - 1) * sums_of_block(bm, split) <= sums(bm) && (split == 1 || steps >= 2 * split);
          });
  require("the ring, X and the sums fit in LDS", {"bm", "bn", "stages", "wn", "wk", "split_k"},
          [format, k = shape.k, most = limits.lds_bytes](const Config& c) {
            return narrow_lds_bytes(format, k, c) + narrow_static_lds_bytes(c) <= most;
          });
}

std::int64_t narrow_threads(const Config& config) {
  constexpr std::int64_t wave = 32;  // the one that copies
  return 128 * config.at("wn") * config.at("wk") + wave;
}

std::int64_t narrow_lds_bytes(const MatrixFormat& format, std::int64_t k, const Config& config) {
  // As `Places` in narrow.hip has them.
  const Tiles t(config);
  const std::int64_t steps = part_steps(format, k, t.split);
  const std::int64_t x = steps * bytes_of(format.x, step_elements(format)) * t.bm;
  const std::int64_t exchange = t.wk * t.split * sums_of_block(t.bm, t.split) * 128 * t.wn * 4;
  const std::int64_t scales_x = 4 * t.bm * (format.scale_x == Scaling::group ? steps : 1);
  return alignment + t.stages * stage_bytes(format, t.bn) + x + 2 * exchange + 2 * 4 * t.bn + scales_x;
}

std::int64_t narrow_static_lds_bytes(const Config& config) {
  constexpr std::int64_t for_x = 8;
  return 8 * (2 * parameter(config, "stages") + 2 + for_x);
}

std::int64_t narrow_registers(const MatrixFormat& format) {
  // What ptxas 13.0 gave the largest of them without a limit.
  if (is_mx(format)) return 112;
  return format.scale_x == Scaling::group ? 80 : 60;
}

db::NamedInts narrow_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config) {
  db::NamedInts constants(config.begin(), config.end());
  return with_constants(std::move(constants), {{"format_x", format_code(format.x)},
                                               {"format_w", format_code(format.w)},
                                               {"scale_x", static_cast<std::int64_t>(format.scale_x)},
                                               {"scale_w", static_cast<std::int64_t>(format.scale_w)},
                                               {"out_dtype", element_code(format.out)},
                                               {"column_parts", shape.column_parts},
                                               {"beside", blocks_beside(format, config)},
                                               {"threads", narrow_threads(config)}});
}

std::vector<std::string> narrow_files() {
  std::vector<std::string> files{"templates/prelude/cuda_wgmma.hip", cluster_file};
  for (const char* name : {"narrow", "narrow_load", "narrow_fp4", "narrow_sum"})
    files.push_back(fmt::format("templates/gemm/{}.hip", name));
  return files;
}

std::vector<std::string> narrow_files(const Config& config) {
  std::vector<std::string> files = narrow_files();
  if (parameter(config, "split_k") == 1) std::erase(files, cluster_file);
  return files;
}

std::vector<Launch> narrow_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views) {
  require_chunks(views.x, format.x, "gemm", "A");
  require_chunks(views.w, format.w, "gemm", "B");
  const Tiles t(config);
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const Params params{tensor_map({views.w.data, bytes_of(format.w, shape.k), shape.n, shape.batch,
                                  bytes_of(format.w, views.w.row_stride), bytes_of(format.w, views.w.batch_stride)},
                                 row_bytes, group_rows / shape.column_parts),
                      tensor_map({views.x.data, bytes_of(format.x, shape.k), shape.m, shape.batch,
                                  bytes_of(format.x, views.x.row_stride), bytes_of(format.x, views.x.batch_stride)},
                                 row_bytes, t.bm),
                      views.x.data,
                      views.scale_x.data,
                      views.scale_w.data,
                      views.c.data,
                      bytes_of(format.x, views.x.row_stride),
                      bytes_of(format.x, views.x.batch_stride),
                      views.c.row_stride,
                      views.c.batch_stride,
                      views.scale_x.row_stride,
                      views.scale_w.row_stride,
                      i32(shape.m),
                      i32(shape.n),
                      i32(shape.batch),
                      i32(ceil_div(shape.k, step_elements(format))),
                      i32(part_steps(format, shape.k, t.split)),
                      i32(bytes_of(format.x, shape.k) / 16),
                      i32(ceil_div(shape.n, scale_unit_rows)),
                      i32(ceil_div(shape.k, 32 * scale_unit_cols))};
  const std::int64_t units = ceil_div(shape.n, t.bn) * ceil_div(shape.m, t.bm) * shape.batch;
  const std::int64_t clusters = std::min(units, (t.split > 3 ? in_large_clusters : multiprocessors) / t.split);
  return {{"gemm_main",
           {u32(clusters * t.split), 1, 1},
           {u32(narrow_threads(config)), 1, 1},
           u32(narrow_lds_bytes(format, shape.k, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
