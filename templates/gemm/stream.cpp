#include "templates/gemm/stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/common/launch.h"
#include "templates/common/nvidia.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t wave = 32;
/// Rows of X that one instruction takes, rows of W, and bytes of a row of W that a step takes.
constexpr std::int64_t tile_x = 8, tile_w = 16, step_bytes = 64;
/// For fp8 x fp4: eight rows of X, in eight parts, fit in LDS beside the ring.
constexpr std::int64_t longest_fp4_k = 98304;
/// Largest clusters that every device runs.
constexpr std::int64_t most_blocks_of_cluster = 8;

/// A configuration's parameters, by field.
struct Tiles {
  explicit Tiles(const Config& c)
      : bm(c.at("bm")),
        bn(c.at("bn")),
        bk(c.at("bk")),
        stages(c.at("stages")),
        wn(c.at("wn")),
        wk(c.at("wk")),
        split(c.at("split_k")) {}
  std::int64_t bm, bn, bk, stages, wn, wk, split;
  std::int64_t rows() const { return bn / wn; }  // of W, for a wave
};

/// Layout of Params in stream_gemm.hip.
struct Params {
  const void *x, *w, *scale_x, *scale_w;
  void* c;
  std::int64_t x_stride, w_stride, c_stride, x_batch, w_batch, c_batch, scale_x_stride, scale_w_stride;
  std::int32_t m, n, x_chunks, w_chunks, stages_k, part, tiles_m;
};

/// fp8 x fp4 has matrix instructions of its own (stream_fp4.hip).
bool widens_to_fp8(const MatrixFormat& format) { return format.w == DType::fp4 && format.x == DType::fp8; }

std::int64_t ring_bytes(const MatrixFormat& format, const Tiles& t) {
  const std::int64_t row = bytes_of(format.w, t.bk), steps = row / step_bytes;
  const std::int64_t x = widens_to_fp8(format) ? 0 : bytes_of(format.x, t.bk) * t.bm;
  const std::int64_t units = ceil_div(t.rows(), 32) * ceil_div(steps, 2);
  const std::int64_t scales = format.scale_w == Scaling::mx ? units * 256 : 0;
  return t.stages * t.wk * (x + t.wn * (t.rows() * row + scales));
}

/// What the kernels' files say the loop takes, beside its addresses.
std::int64_t sums_of(const Tiles& t) { return t.rows() / tile_w * (t.bm / tile_x) * 4; }

}  // namespace

bool has_stream(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const bool chunks = bytes_of(format.x, shape.k) % 16 == 0 && bytes_of(format.w, shape.k) % 16 == 0;
  if (widens_to_fp8(format) && (limits.arch != "sm_90a" || shape.k > longest_fp4_k)) return false;
  return has_copy_engine(limits) && format.x != DType::fp4 && chunks && shape.k >= 64;
}

std::vector<std::int64_t> stream_values(std::string_view parameter, const MatrixFormat& format) {
  if (parameter == "bm") return {8, 16, 32, 64};
  if (parameter == "bn") return {16, 32, 64, 128, 256};
  if (parameter == "bk") {
    // 64 to 256 bytes of a row; scales come in units of 256 or 128 elements.
    if (format.w == DType::fp4) return {256, 512};
    return format.w == DType::fp8 ? std::vector<std::int64_t>{128, 256} : std::vector<std::int64_t>{64, 128};
  }
  if (parameter == "stages") return {2, 3, 4, 5, 6, 8};
  if (parameter == "wn") return {1, 2, 4, 8};
  if (parameter == "wk" || parameter == "split_k") return {1, 2, 4, 8};
  if (parameter == "shuffled" || parameter == "overlap") return {0, 1};
  return {1};
}

void require_stream(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const auto require = [&](std::string text, std::vector<std::string> names, std::function<bool(const Config&)> holds) {
    names.emplace_back("path");
    space.require(std::move(text), std::move(names), [holds = std::move(holds)](const Config& c) {
      return c.at("path") != matrix_path::stream || holds(c);
    });
  };
  for (const char* name : {"bm", "bn", "bk", "stages", "wm", "wn", "wk", "split_k", "group_m", "multicast"}) {
    require(fmt::format("{} is one of the stream path's", name), {name},
            [name, values = stream_values(name, format)](const Config& c) {
              return std::ranges::find(values, c.at(name)) != values.end();
            });
  }
  require("bm takes all rows of X where it can; an expert's rows vary", {"bm"},
          [rows = std::clamp<std::int64_t>(power_of_two_above(shape.m), tile_x, 64),
           free = shape.grouped || widens_to_fp8(format), grouped = shape.grouped](const Config& c) {
            if (free && !grouped) return c.at("bm") <= rows;
            return grouped ? c.at("bm") <= std::max<std::int64_t>(16, rows) : c.at("bm") == rows;
          });
  require("a block has 4 to 16 waves", {"wn", "wk"}, [](const Config& c) {
    const std::int64_t waves = c.at("wn") * c.at("wk");
    return waves >= 4 && waves <= 16;
  });
  require("a wave has 16 to 64 rows of W, all of its column part's", {"bn", "wn"},
          [parts = shape.column_parts](const Config& c) {
            const std::int64_t rows = c.at("bn") / c.at("wn");
            return rows >= tile_w && rows <= 64 && c.at("bn") / parts >= rows;
          });
  if (widens_to_fp8(format)) {
    require("waves side by side are warpgroups", {"wn"}, [](const Config& c) { return c.at("wn") % 4 == 0; });
  }
  require("the tile is not much larger than W", {"bn"}, [n = shape.column_parts * shape.n](const Config& c) {
    return c.at("bn") <= std::max<std::int64_t>(16 * 2, power_of_two_above(n));
  });
  if (format.scale_x == Scaling::group && shape.column_parts > 1) {
    require("a wave's rows of W lie in one group of 128", {"bn", "wn"},
            [n = shape.n](const Config& c) { return n % (c.at("bn") / c.at("wn")) == 0; });
  }
  require("the ring and the sums fit in LDS", {"bm", "bn", "bk", "stages", "wn", "wk", "split_k"},
          [format, k = shape.k, most = limits.lds_bytes](const Config& c) {
            return stream_lds_bytes(format, k, c) <= most;
          });
  require("sums and fragments fit in registers", {"bm", "bn", "bk", "stages", "wn", "wk", "split_k"},
          [format](const Config& c) {
            return stream_registers(format, c) <= std::min<std::int64_t>(255, 65536 / stream_threads(c));
          });
  require("each part of k has at least two stages; a split is for launches of few blocks",
          {"bn", "bk", "wk", "split_k"},
          [k = shape.k, n = shape.column_parts * shape.n, grouped = shape.grouped](const Config& c) {
            const std::int64_t split = c.at("split_k"), stages = ceil_div(k, c.at("bk") * c.at("wk"));
            if (split == 1) return true;
            // Eight blocks for each of 132 multiprocessors.
            return stages >= 2 * split && (grouped || ceil_div(n, c.at("bn")) * split <= 8 * 132);
          });
}

Config stream_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  const bool fp4 = format.w == DType::fp4, to_fp8 = widens_to_fp8(format);
  const std::int64_t rows = shape.grouped ? tile_x : std::clamp<std::int64_t>(power_of_two_above(shape.m), tile_x, 64);
  const std::int64_t columns = shape.column_parts * shape.n, bk = stream_values("bk", format).front();
  Config config{{"path", matrix_path::stream},
                {"bm", rows},
                {"bn", 32},
                {"bk", bk},
                {"stages", 3},
                {"wm", 1},
                {"wn", 2},
                {"wk", 4},
                {"split_k", 1},
                {"group_m", 1},
                {"multicast", 1},
                {"shuffled", 0},
                {"overlap", 1}};
  const auto tile = [&config](std::int64_t bn, std::int64_t wn, std::int64_t wk) {
    config["bn"] = bn;
    config["wn"] = wn;
    config["wk"] = wk;
  };
  if (to_fp8) {
    tile(rows > 16 ? 256 : 128, rows > 16 ? 8 : 4, 1);
  } else if (fp4) {
    tile(rows > 8 ? 128 : 64, 4, rows > 8 ? 2 : 1);
  } else if (shape.column_parts > 1 || rows > 16) {
    tile(64, rows > 16 ? 4 : 2, rows > 16 ? 2 : 4);
  }
  // Parts of k until every multiprocessor has about two blocks, while each wave has several stages.
  const std::int64_t tiles = ceil_div(columns, config.at("bn")) * shape.batch;
  const std::int64_t stages = ceil_div(shape.k, bk * config.at("wk")), wanted = (to_fp8 ? 3 : 2) * limits.cu_count - 8;
  const auto split = [&config]() -> std::int64_t& { return config["split_k"]; };
  while (!shape.grouped && split() < most_blocks_of_cluster && stages >= 12 * split() && tiles * split() < wanted) {
    split() *= 2;
  }
  if (shape.grouped && to_fp8 && stages >= 12) split() = 2;
  // Few rows of X: columns in small tiles when there are enough, or k in more turns when it is short.
  if (!fp4 && !shape.grouped && rows == tile_x) {
    if (ceil_div(columns, 16) * shape.batch >= wanted) tile(16, 1, 8);
    if (split() == 1) tile(config.at("bn"), 1, 8);
  }
  const auto too_large = [&] {
    return stream_lds_bytes(format, shape.k, config) > limits.lds_bytes ||
           stream_registers(format, config) > std::min<std::int64_t>(255, 65536 / stream_threads(config));
  };
  while (too_large() && config.at("bm") > tile_x && to_fp8) config["bm"] /= 2;
  while (too_large() && split() < most_blocks_of_cluster) split() *= 2;
  while (too_large() && config.at("wk") > 1 && config.at("wn") * config.at("wk") > 4) config["wk"] /= 2;
  return config;
}

db::NamedInts stream_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config) {
  db::NamedInts constants(config.begin(), config.end());
  return with_constants(std::move(constants), {{"format_x", format_code(format.x)},
                                               {"format_w", format_code(format.w)},
                                               {"scale_x", static_cast<std::int64_t>(format.scale_x)},
                                               {"scale_w", static_cast<std::int64_t>(format.scale_w)},
                                               {"out_dtype", element_code(format.out)},
                                               {"column_parts", shape.column_parts},
                                               {"threads", stream_threads(config)}});
}

std::vector<std::string> stream_files() {
  std::vector<std::string> files{"templates/prelude/cuda_wgmma.hip"};
  for (const char* name : {"shape", "nvidia", "load", "multiply", "fp4"}) {
    files.push_back(fmt::format("templates/gemm/stream_{}.hip", name));
  }
  files.emplace_back("templates/gemm/stream.hip");
  return files;
}

std::int64_t stream_threads(const Config& config) { return wave * config.at("wn") * config.at("wk"); }

std::int64_t stream_lds_bytes(const MatrixFormat& format, std::int64_t k, const Config& config) {
  const Tiles t(config);
  const std::int64_t sums = t.wk * t.bm * (t.bn + 4) * 4;  // `pitch` in stream_shape.hip
  const std::int64_t bytes = std::max(ring_bytes(format, t), sums) + (2 * t.bm + t.bn) * 4;
  // What a block keeps of all its k: X, or scales of groups of 128.
  const std::int64_t stages = stream_stages(config, k).part * t.wk, rest = ceil_div(bytes, 1024) * 1024;
  if (widens_to_fp8(format)) return rest + stages * bytes_of(format.x, t.bk) * t.bm;
  return format.scale_x == Scaling::group ? rest + stages * (t.bk / 128) * (t.bm + t.wn) * 4 : bytes;
}

std::int64_t stream_registers(const MatrixFormat& format, const Config& config) {
  const Tiles t(config);
  const std::int64_t tiles = t.rows() / tile_w;
  const bool fp4 = format.w == DType::fp4;
  // As registers_needed in stream.hip.
  const std::int64_t fragments = !fp4 ? 16 : format.x == DType::bf16 ? 24 * tiles : 32 * tiles + t.bm / 2 * tiles;
  return 40 + sums_of(t) * (format.scale_x == Scaling::group ? 2 : 1) + 8 * tiles + fragments;
}

StreamStages stream_stages(const Config& config, std::int64_t k) {
  const std::int64_t all = ceil_div(k, config.at("bk") * config.at("wk"));
  return {all, ceil_div(all, config.at("split_k"))};
}

std::int64_t stream_scale_stride(Scaling scaling, std::int64_t k, std::int64_t row_stride) {
  if (scaling == Scaling::mx) return matrix_scales(scaling, true, 1, k, row_stride).stride;
  return scaling == Scaling::group ? 4 * row_stride : 0;
}

std::vector<Launch> stream_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views) {
  require_chunks(views.x, format.x, "gemm", "A");
  require_chunks(views.w, format.w, "gemm", "B");
  const bool shuffled = parameter(config, "shuffled") == 1;
  const MatrixOperand x = matrix_operand(format.x, shape.m, shape.k, views.x.row_stride, false);
  const MatrixOperand w = matrix_operand(format.w, shape.n, shape.k, views.w.row_stride, shuffled);
  const StreamStages stages = stream_stages(config, shape.k);
  const std::int64_t tiles_m = ceil_div(shape.m, config.at("bm")), split = config.at("split_k");
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const Params params{views.x.data,
                      views.w.data,
                      views.scale_x.data,
                      views.scale_w.data,
                      views.c.data,
                      x.stride,
                      w.stride,
                      views.c.row_stride,
                      bytes_of(format.x, views.x.batch_stride),
                      shuffled ? w.bytes : bytes_of(format.w, views.w.batch_stride),
                      views.c.batch_stride,
                      stream_scale_stride(format.scale_x, shape.k, views.scale_x.row_stride),
                      stream_scale_stride(format.scale_w, shape.k, views.scale_w.row_stride),
                      i32(shape.m),
                      i32(shape.n),
                      i32(x.row_chunks),
                      i32(w.row_chunks),
                      i32(stages.all),
                      i32(stages.part),
                      i32(tiles_m)};
  return {{"gemm_main",
           {u32(ceil_div(shape.n, config.at("bn"))), u32(split), u32(tiles_m * shape.batch)},
           {u32(stream_threads(config)), 1, 1},
           u32(stream_lds_bytes(format, shape.k, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
