#include "templates/gemm/matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/common/launch.h"
#include "templates/common/nvidia.h"
#include "templates/gemm/nvidia.h"

namespace wavetune::templates {
namespace {

/// A configuration's parameters, by field.
struct Tiles {
  explicit Tiles(const Config& c)
      : path(c.at("path")),
        bm(c.at("bm")),
        bn(c.at("bn")),
        bk(c.at("bk")),
        wm(c.at("wm")),
        wn(c.at("wn")),
        wk(c.at("wk")),
        mfma(c.at("mfma")),
        stages(c.at("stages")) {}
  std::int64_t path, bm, bn, bk, wm, wn, wk, mfma, stages;
  bool skinny() const { return path == matrix_path::skinny; }
  std::int64_t wave_m() const { return bm / wm; }
  std::int64_t wave_n() const { return bn / wn; }
  std::int64_t waves() const { return wm * wn * wk; }
};

/// 16-byte chunks of one operand that a lane holds for one step.
std::int64_t step_chunks(DType type, std::int64_t step_k, std::int64_t tile) {
  return bytes_of(type, step_k) / 16 / (64 / tile);
}

/// gfx950's instructions: on the chip, or imitated.
bool has_gfx950(const DeviceLimits& limits) { return limits.arch == "gfx950" || is_cpu(limits); }

/// Names of all parameters that decide the geometry of a block.
const std::vector<std::string> geometry{"path", "bm", "bn", "bk", "wm", "wn", "wk", "mfma", "stages"};

std::vector<std::string> geometry_and(std::initializer_list<const char*> more) {
  std::vector<std::string> names = geometry;
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

void require_geometry(Space& space, const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  space.require("skinny blocks have one wave along M, 16 to 64 rows, and serve M <= 64", {"path", "bm", "wm", "wk"},
                [m = shape.m](const Config& c) {
                  const bool skinny = c.at("path") == matrix_path::skinny;
                  return skinny ? c.at("wm") == 1 && c.at("bm") <= 64 && m <= 64 : c.at("wk") == 1 && c.at("bm") >= 32;
                });
  space.require("a block has 4 or 8 waves", {"wm", "wn", "wk"}, [](const Config& c) {
    const std::int64_t waves = c.at("wm") * c.at("wn") * c.at("wk");
    return waves == 4 || waves == 8;
  });
  space.require("a wave's tile is whole instruction tiles and at most 128 sums a lane",
                {"bm", "bn", "wm", "wn", "mfma"}, [parts = shape.column_parts](const Config& c) {
                  const std::int64_t wave_m = c.at("bm") / c.at("wm"), wave_n = c.at("bn") / c.at("wn");
                  return wave_m >= c.at("mfma") && wave_n >= parts * c.at("mfma") && wave_m * wave_n <= 128 * 64;
                });
  space.require("the block tile is not much larger than C", {"bm", "bn"},
                [m = shape.m, n = shape.column_parts * shape.n](const Config& c) {
                  return c.at("bm") <= std::max<std::int64_t>(32, power_of_two_above(m)) &&
                         c.at("bn") <= std::max<std::int64_t>(64, power_of_two_above(n));
                });
  space.require("bk is one to a few steps of the instruction, and rows of a stage have 64 to 1024 bytes",
                {"bk", "mfma"}, [format](const Config& c) {
                  const std::int64_t step = format.step_k(c.at("mfma")), bk = c.at("bk");
                  return bk % step == 0 && bk <= 8 * step && bytes_of(format.w, bk) >= 64 &&
                         bytes_of(format.x, bk) <= 1024;
                });
  if (format.scale_x == Scaling::group) {
    space.require("a wave's columns lie in one group of 128", {"bn", "wn"},
                  [parts = shape.column_parts, n = shape.n](const Config& c) {
                    const std::int64_t cols = c.at("bn") / c.at("wn") / parts;
                    return cols <= 128 && (parts == 1 || n % cols == 0);
                  });
  }
  space.require("sums and fragments fit in registers", geometry_and({"direct"}), [format](const Config& c) {
    // A SIMD's 512 registers of a lane are shared by its waves; more than 256 are used only as accumulation registers.
    return matrix_registers(format, c) <= 256;
  });
  space.require("the stages fit in LDS", geometry_and({"epilogue"}),
                [format, most = limits.lds_bytes](const Config& c) { return matrix_lds_bytes(format, c) <= most; });
}

void require_movement(Space& space, const MatrixShape& shape, const DeviceLimits& limits) {
  space.require("LDS parameters belong to the tile path; direct copies need gfx950 and 2 or 3 stages, others use 2",
                {"path", "stages", "direct", "swizzle", "epilogue"}, [direct = has_gfx950(limits)](const Config& c) {
                  if (c.at("path") == matrix_path::skinny) {
                    return c.at("direct") == 0 && c.at("swizzle") == 0 && c.at("epilogue") == 0;
                  }
                  return c.at("direct") == 1 ? direct && c.at("stages") <= 3 && c.at("stages") >= 2
                                             : c.at("stages") == 2;
                });
  space.require("the block order matters for tiles of whole k", {"path", "split_k", "group_m", "xcd"},
                [grouped = shape.grouped](const Config& c) {
                  const bool plain = c.at("xcd") == 0 && c.at("group_m") == 1;
                  if (grouped) return plain && c.at("split_k") != 0;
                  if (c.at("xcd") == 1 && c.at("group_m") == 1) return false;
                  return plain || (c.at("path") == matrix_path::tile && c.at("split_k") == 1);
                });
  space.require("stream-K is the tile path's and has no batches; sums of parts are stored straight from registers",
                {"path", "split_k", "epilogue"}, [batch = shape.batch](const Config& c) {
                  if (c.at("split_k") == 0) return c.at("path") == matrix_path::tile && batch == 1;
                  return c.at("split_k") == 1 || c.at("epilogue") == 0;
                });
  space.require("each part of a split k has two stages for each of its waves", {"bk", "wk", "split_k"},
                [k = shape.k](const Config& c) {
                  const std::int64_t split = c.at("split_k");
                  const std::int64_t stages = ceil_div(k, c.at("bk"));
                  return split == 0 ? stages >= 4 : split == 1 || stages >= 2 * split * c.at("wk");
                });
}

}  // namespace

std::int64_t format_code(DType type) { return type == DType::bf16 ? 16 : type == DType::fp8 ? 0 : 4; }

std::int64_t MatrixFormat::step_k(std::int64_t tile) const {
  return (x == DType::bf16 && w == DType::bf16 ? 8 : 32) * (64 / tile);
}

std::optional<MatrixFormat> matrix_format(std::string_view dtype) {
  using enum Scaling;
  if (dtype == "bf16") return MatrixFormat{DType::bf16, DType::bf16, none, none, DType::bf16};
  if (dtype == "bf16_f32") return MatrixFormat{DType::bf16, DType::bf16, none, none, DType::f32};
  if (dtype == "fp8_block") return MatrixFormat{DType::fp8, DType::fp8, group, group, DType::bf16};
  if (dtype == "fp8_token") return MatrixFormat{DType::fp8, DType::fp8, row, row, DType::bf16};
  if (dtype == "mxfp4") return MatrixFormat{DType::fp4, DType::fp4, mx, mx, DType::bf16};
  if (dtype == "fp8_mxfp4") return MatrixFormat{DType::fp8, DType::fp4, row, mx, DType::bf16};
  if (dtype == "bf16_mxfp4") return MatrixFormat{DType::bf16, DType::fp4, none, mx, DType::bf16};
  return std::nullopt;
}

bool is_matrix_path(const Config& config) { return parameter(config, "path") >= matrix_path::tile; }

bool has_matrix_paths(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  if (is_nvidia(limits)) return has_nvidia_paths(format, shape, limits);
  // What a CPU can multiply by itself it does faster (templates/gemm/product.h).
  const bool wanted = limits.arch == "gfx942" || limits.arch == "gfx950" || (is_cpu(limits) && format.quantised());
  // gfx942's FP8 is another format (FNUZ), and it has no scaled matrix instructions.
  const bool multiplies = has_gfx950(limits) || format.x == DType::bf16;
  const bool chunks = bytes_of(format.x, shape.k) % 16 == 0 && bytes_of(format.w, shape.k) % 16 == 0;
  return wanted && multiplies && chunks && shape.k >= 64;
}

Space matrix_space(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  if (is_nvidia(limits)) return nvidia_space(format, shape, limits);
  Space space;
  // Cheap constraints are due first when the last parameters are chosen first.
  space.add("epilogue", {0, 1})
      .add("xcd", {0, 1})
      .add("group_m", {1, 8})
      .add("shuffled", {0, 1})
      .add("swizzle", {0, 1});
  space.add("split_k", {0, 1, 2, 4, 8, 16}).add("direct", {0, 1}).add("stages", {2, 3, 4});
  space.add("bk", {32, 64, 128, 256, 512}).add("mfma", {16, 32});
  space.add("bn", {16, 32, 64, 128, 256}).add("bm", {16, 32, 64, 128, 256});
  space.add("wn", {1, 2, 4, 8}).add("wm", {1, 2, 4}).add("wk", {1, 2, 4, 8});
  space.add("path", {matrix_path::tile, matrix_path::skinny});
  require_geometry(space, format, shape, limits);
  require_movement(space, shape, limits);
  return space;
}

Config matrix_default(const MatrixFormat& format, const MatrixShape& shape, const DeviceLimits& limits) {
  if (is_nvidia(limits)) return nvidia_default(format, shape, limits);
  const bool few = shape.m <= 64;
  const std::int64_t step = format.step_k(16),
                     rows = few ? std::max<std::int64_t>(16, power_of_two_above(shape.m)) : 64;
  Config config{{"path", few ? matrix_path::skinny : matrix_path::tile},
                {"bm", rows},
                {"bn", 64 * shape.column_parts},
                {"bk", std::max<std::int64_t>(step, bytes_of(format.w, step) < 64 ? 2 * step : step)},
                {"wm", few ? 1 : 2},
                {"wn", few ? 4 : 2},
                {"wk", 1},
                {"mfma", 16},
                {"stages", 2},
                {"direct", !few && has_gfx950(limits) ? 1 : 0},
                {"swizzle", 0},
                {"shuffled", 0},
                {"split_k", 1},
                {"group_m", 1},
                {"xcd", 0},
                {"epilogue", 0}};
  return config;
}

std::int64_t matrix_threads(const Config& config) {
  return is_nvidia_path(config) ? nvidia_threads(config) : 64 * Tiles(config).waves();
}

std::int64_t matrix_lds_bytes(const MatrixFormat& format, const Config& config) {
  if (is_nvidia_path(config)) return nvidia_lds_bytes(format, config);
  const Tiles t(config);
  if (t.skinny()) return (t.wk - 1) * t.wn * t.wave_m() * t.wave_n() * 4;
  const std::int64_t ring = t.stages * (t.bm * bytes_of(format.x, t.bk) + t.bn * bytes_of(format.w, t.bk));
  const std::int64_t size = static_cast<std::int64_t>(size_of(format.out));
  const std::int64_t turn = config.at("epilogue") == 1 ? t.waves() * t.mfma * (t.wave_n() + 16 / size) * size : 0;
  return std::max(ring, turn);
}

std::int64_t matrix_registers(const MatrixFormat& format, const Config& config) {
  if (is_nvidia_path(config)) return nvidia_registers(format, config);
  const Tiles t(config);
  const std::int64_t step = format.step_k(t.mfma), steps = t.bk / step;
  const std::int64_t tiles_m = t.wave_m() / t.mfma, tiles_n = t.wave_n() / t.mfma;
  const std::int64_t chunks_x = step_chunks(format.x, step, t.mfma), chunks_w = step_chunks(format.w, step, t.mfma);
  const bool widens = format.x == DType::bf16 && format.w == DType::fp4;
  const std::int64_t sums = t.wave_m() * t.wave_n() / 64;
  std::int64_t scales = 0;
  if (format.scale_x == Scaling::group) scales = (tiles_m + 1) * steps;
  if (format.scale_w == Scaling::mx) scales += ceil_div(tiles_n, t.mfma == 16 ? 2 : 1) * ceil_div(steps, 2);
  if (format.scale_x == Scaling::mx) scales += ceil_div(tiles_m, t.mfma == 16 ? 2 : 1) * ceil_div(steps, 2);
  // Products that wait for their group's scale, and chunks that are being widened.
  const std::int64_t waiting = format.scale_x == Scaling::group ? 5 * t.mfma * t.mfma / 64 : widens ? 8 : 0;
  constexpr std::int64_t addresses = 20;
  if (t.skinny()) {
    const std::int64_t step_fragments = 4 * (tiles_m * chunks_x + tiles_n * chunks_w);
    return sums + t.stages * (steps * step_fragments + scales) + waiting + addresses + tiles_m + tiles_n;
  }
  const std::int64_t moved =
      config.at("direct") == 1
          ? 0
          : (t.bm * bytes_of(format.x, t.bk) + t.bn * bytes_of(format.w, t.bk)) / t.waves() / 64 / 4;
  // Rows of X for the part that is multiplied and the next one; columns of W one or two ahead (tile.hip).
  const std::int64_t step_parts = widens ? chunks_x : 1;
  const std::int64_t fragments = 4 * (std::min<std::int64_t>(steps * step_parts, 2) * tiles_m * chunks_x / step_parts +
                                      (widens ? 3 : 2) * chunks_w);
  return sums + fragments + moved + 2 * scales + waiting + addresses;
}

db::NamedInts matrix_constants(const MatrixFormat& format, const MatrixShape& shape, const Config& config) {
  if (is_nvidia_path(config)) return nvidia_constants(format, shape, config);
  db::NamedInts constants(config.begin(), config.end());
  return with_constants(std::move(constants), {{"format_x", format_code(format.x)},
                                               {"format_w", format_code(format.w)},
                                               {"scale_x", static_cast<std::int64_t>(format.scale_x)},
                                               {"scale_w", static_cast<std::int64_t>(format.scale_w)},
                                               {"out_dtype", element_code(format.out)},
                                               {"gathered", shape.grouped ? 1 : 0},
                                               {"column_parts", shape.column_parts},
                                               {"waves", Tiles(config).waves()},
                                               {"threads", matrix_threads(config)}});
}

namespace {

std::vector<std::string> below_gemm(std::initializer_list<const char*> names) {
  std::vector<std::string> files;
  for (const char* name : names) files.push_back(fmt::format("templates/gemm/{}.hip", name));
  return files;
}

}  // namespace

std::vector<std::string> matrix_files() {
  return below_gemm({"operand", "multiply", "scales", "store", "stage", "tile", "skinny"});
}

std::vector<std::string> matrix_files(const Config& config) {
  if (Tiles(config).skinny()) return below_gemm({"operand", "multiply", "scales", "store", "skinny"});
  return below_gemm({"operand", "multiply", "scales", "store", "stage", "tile"});
}

}  // namespace wavetune::templates
