#include "templates/gemm/warpgroup.h"

#include <fmt/format.h>

#include <algorithm>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/gemm/arrange.h"
#include "templates/gemm/tensor_map.h"

namespace wavetune::templates {
namespace {

/// Bytes of k that a tensor copy takes of a row; what stages are aligned to.
constexpr std::int64_t row_bytes = 128, alignment = 1024;
/// Streaming multiprocessors of an H100 and an H200 (SXM). On a device with fewer, some blocks come after the others.
constexpr std::int64_t multiprocessors = 132;
constexpr const char* cluster_file = "templates/gemm/warpgroup_cluster.hip";
/// More stages in flight do not help.
constexpr std::int64_t most_stages = 8;

bool is_warpgroup(const Config& c) { return c.at("path") == matrix_path::warpgroup; }

bool is_mx(const MatrixFormat& format) { return format.scale_w == Scaling::mx; }

/// Of the ring; warpgroup.hip says what lies in it.
std::int64_t stage_bytes(const MatrixFormat& format, std::int64_t bm, std::int64_t bn) {
  if (!is_mx(format)) return (bm + bn) * row_bytes;
  return ceil_div(2 * bm * row_bytes + bn * (64 + 8), alignment) * alignment;
}

/// As many stages as fit.
std::int64_t stages_of(const MatrixFormat& format, std::int64_t bm, std::int64_t bn, const DeviceLimits& limits) {
  const std::int64_t room = limits.lds_bytes - warpgroup_static_lds_bytes - alignment;
  return std::min(most_stages, room / stage_bytes(format, bm, bn));
}

std::int64_t elements_of_step(const MatrixFormat& format) {
  return is_mx(format) ? 128 : row_bytes / bytes_of(format.x, 1);
}

/// Layout of Params in warpgroup_gemm.hip.
struct Params {
  TensorMap x, w;
  const void *scale_x, *scale_w;
  void* c;
  std::int64_t c_stride, c_batch;
  std::int32_t scale_x_stride, scale_w_stride;
  std::int32_t m, n, batch, steps, scale_rows, scale_cols, whole;
};

}  // namespace

bool has_warpgroup(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const bool same = format.x == format.w && (format.x == DType::bf16 || format.x == DType::fp8);
  const bool known = same || (format.x == DType::bf16 && is_mx(format));
  // Rows begin at multiples of 16 bytes, and a run of 32 columns is one column part's.
  const bool chunks = bytes_of(format.x, shape.k) % 16 == 0 && bytes_of(format.w, shape.k) % 16 == 0 &&
                      (shape.column_parts == 1 || shape.n % 32 == 0);
  return limits.arch == "sm_90a" && known && chunks && shape.k >= 64 && shape.m > (shape.grouped ? 4 : 32);
}

std::vector<std::int64_t> warpgroup_values(std::string_view parameter, const MatrixFormat& format) {
  if (parameter == "bm") return {64, 128, 256};
  if (parameter == "bn") return {64, 96, 128, 160, 192, 224, 256};
  if (parameter == "bk") return {elements_of_step(format)};
  if (parameter == "stages") return {3, 4, 5, 6, 7, 8};
  if (parameter == "wm" || parameter == "wn" || parameter == "multicast") return {1, 2};
  if (parameter == "split_k") return {1, 2, 3, 4};
  if (parameter == "group_m") return {8};
  if (parameter == "overlap") return {0, 1};
  if (parameter == "shuffled") return {0};
  return {1};
}

void require_warpgroup(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const auto require = [&](std::string text, std::vector<std::string> names, std::function<bool(const Config&)> holds) {
    names.emplace_back("path");
    space.require(std::move(text), std::move(names),
                  [holds = std::move(holds)](const Config& c) { return !is_warpgroup(c) || holds(c); });
  };
  for (const char* name : {"bm", "bn", "bk", "stages", "wm", "wn", "wk", "split_k", "group_m", "multicast"}) {
    require(fmt::format("{} is one of the warpgroup path's", name), {name},
            [name, values = warpgroup_values(name, format)](const Config& c) {
              return std::ranges::find(values, c.at(name)) != values.end();
            });
  }
  require("two warpgroups multiply, whole instructions of 64 rows each, runs of 32 columns of each column part",
          {"bm", "bn", "wm", "wn", "multicast"}, [mx = is_mx(format), parts = shape.column_parts](const Config& c) {
            if (c.at("wm") * c.at("wn") != 2 || c.at("bn") % c.at("wn") != 0) return false;
            const std::int64_t rows = c.at("bm") / c.at("wm"), columns = c.at("bn") / c.at("wn");
            return rows % (mx ? 32 : 64) == 0 && columns % ((mx ? 64 : 32) * parts) == 0 &&
                   columns / parts % (8 * c.at("multicast")) == 0 && (!mx || c.at("multicast") == 1);
          });
  require("sums fit in registers, beside rows of fp4; those of fp8 are there twice",
          {"bm", "bn", "wm", "wn", "split_k"}, [format, grouped = shape.grouped](const Config& c) {
            const std::int64_t rows = c.at("bm") / c.at("wm"), columns = c.at("bn") / c.at("wn");
            const std::int64_t sums = rows * columns / 128;
            if (is_mx(format))
              return columns == 64 ? sums <= 128 : columns == 128 && sums <= 64 && c.at("split_k") == 1;
            if (format.x == DType::fp8) return sums <= 96 && (format.scale_x != Scaling::group || rows == 64);
            return sums <= (grouped || c.at("split_k") > 1 ? 128 : 192);
          });
  if (format.scale_x == Scaling::group) {
    require("a warpgroup's columns of a part lie in one group of 128", {"bn", "wn"},
            [parts = shape.column_parts, n = shape.n](const Config& c) {
              const std::int64_t columns = c.at("bn") / c.at("wn") / parts;
              return 128 % columns == 0 && (parts == 1 || n % columns == 0);
            });
  }
  require("the ring takes as many stages as fit in LDS, at most 8", {"bm", "bn", "stages"},
          [format, limits](const Config& c) {
            return c.at("stages") == stages_of(format, c.at("bm"), c.at("bn"), limits);
          });
  require("the block tile is not much larger than C", {"bm", "bn"},
          [m = shape.m, n = shape.column_parts * shape.n](const Config& c) {
            return c.at("bm") <= std::max<std::int64_t>(64, power_of_two_above(m)) &&
                   c.at("bn") <= std::max<std::int64_t>(64, power_of_two_above(n));
          });
  require("a split of k has a few steps for each part, no multicast, and sums that fit in the ring",
          {"bm", "bn", "stages", "split_k", "multicast"},
          [format, steps = warpgroup_steps(format, shape.k)](const Config& c) {
            const std::int64_t split = c.at("split_k"), bm = c.at("bm"), bn = c.at("bn");
            return split == 1 || (c.at("multicast") == 1 && steps >= 4 * split &&
                                  bm * bn * 4 <= c.at("stages") * stage_bytes(format, bm, bn));
          });
  require("multicast needs rows of X for two blocks", {"bm", "multicast"},
          [m = shape.m, grouped = shape.grouped](const Config& c) {
            return c.at("multicast") == 1 || (!grouped && m > c.at("bm"));
          });
}

Config warpgroup_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  // fp4's rows are those of an instruction's 64: gate and up need two of them in each warpgroup.
  const std::int64_t bm = shape.m > 64 && !is_mx(format) ? 128 : 64;
  const std::int64_t bn = is_mx(format) ? 128 * shape.column_parts : 128, wm = bm / 64;
  return {{"path", matrix_path::warpgroup},
          {"bm", bm},
          {"bn", bn},
          {"bk", elements_of_step(format)},
          {"stages", stages_of(format, bm, bn, limits)},
          {"wm", wm},
          {"wn", 2 / wm},
          {"wk", 1},
          {"split_k", 1},
          {"group_m", 8},
          {"multicast", 1},
          {"overlap", 1}};
}

std::int64_t warpgroup_threads(const Config& config) {
  return 128 * (parameter(config, "wm") * parameter(config, "wn") + 1);
}

std::int64_t warpgroup_lds_bytes(const MatrixFormat& format, const Config& config) {
  return alignment +
         parameter(config, "stages") * stage_bytes(format, parameter(config, "bm"), parameter(config, "bn"));
}

std::int64_t warpgroup_registers(const Config& config) { return 65536 / warpgroup_threads(config) / 8 * 8; }

std::int64_t warpgroup_row_bytes_w(const MatrixFormat& format) { return is_mx(format) ? 64 : row_bytes; }

std::int64_t warpgroup_steps(const MatrixFormat& format, std::int64_t k) {
  return ceil_div(k, elements_of_step(format));
}

db::NamedInts warpgroup_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config) {
  db::NamedInts constants(config.begin(), config.end());
  return with_constants(std::move(constants), {{"format_x", format_code(format.x)},
                                               {"format_w", format_code(format.w)},
                                               {"scale_x", static_cast<std::int64_t>(format.scale_x)},
                                               {"out_dtype", element_code(format.out)},
                                               {"gathered", shape.grouped ? 1 : 0},
                                               {"column_parts", shape.column_parts},
                                               {"threads", warpgroup_threads(config)}});
}

std::vector<std::string> warpgroup_files() {
  std::vector<std::string> files{"templates/prelude/cuda_wgmma.hip", cluster_file};
  for (const char* name : {"warpgroup", "warpgroup_copy", "warpgroup_sum", "warpgroup_mx", "warpgroup_store"}) {
    files.push_back(fmt::format("templates/gemm/{}.hip", name));
  }
  return files;
}

std::vector<std::string> warpgroup_files(const Config& config) {
  std::vector<std::string> files = warpgroup_files();
  if (parameter(config, "split_k") * parameter(config, "multicast") == 1) std::erase(files, cluster_file);
  return files;
}

std::int64_t warpgroup_blocks(const Config& config, std::int64_t units) {
  const std::int64_t split = parameter(config, "split_k"), multicast = parameter(config, "multicast");
  if (split > 1) return units * split;
  return std::min(units, multiprocessors / multicast) * multicast;
}

std::vector<Launch> warpgroup_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                       const MatrixViews& views) {
  require_chunks(views.x, format.x, "gemm", "A");
  require_chunks(views.w, format.w, "gemm", "B");
  const std::int64_t bm = parameter(config, "bm"), bn = parameter(config, "bn");
  const std::int64_t multicast = parameter(config, "multicast");
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const std::int64_t out_bytes = static_cast<std::int64_t>(size_of(format.out));
  const bool whole = reinterpret_cast<std::uintptr_t>(views.c.data) % 16 == 0 &&
                     views.c.row_stride * out_bytes % 16 == 0 && views.c.batch_stride * out_bytes % 16 == 0;
  const Params params{tensor_map({views.x.data, bytes_of(format.x, shape.k), shape.m, shape.batch,
                                  bytes_of(format.x, views.x.row_stride), bytes_of(format.x, views.x.batch_stride)},
                                 row_bytes, bm),
                      tensor_map({views.w.data, bytes_of(format.w, shape.k), shape.n, shape.batch,
                                  bytes_of(format.w, views.w.row_stride), bytes_of(format.w, views.w.batch_stride)},
                                 warpgroup_row_bytes_w(format), bn / parameter(config, "wn") / multicast),
                      views.scale_x.data,
                      views.scale_w.data,
                      views.c.data,
                      views.c.row_stride,
                      views.c.batch_stride,
                      i32(views.scale_x.row_stride),
                      i32(views.scale_w.row_stride),
                      i32(shape.m),
                      i32(shape.n),
                      i32(shape.batch),
                      i32(warpgroup_steps(format, shape.k)),
                      i32(ceil_div(shape.n, scale_unit_rows)),
                      i32(ceil_div(shape.k, 32 * scale_unit_cols)),
                      whole ? 1 : 0};
  const std::int64_t units = ceil_div(shape.m, bm * multicast) * ceil_div(shape.n, bn) * shape.batch;
  return {{"gemm_main",
           {static_cast<std::uint32_t>(warpgroup_blocks(config, units)), 1, 1},
           {static_cast<std::uint32_t>(warpgroup_threads(config)), 1, 1},
           static_cast<std::uint32_t>(warpgroup_lds_bytes(format, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
