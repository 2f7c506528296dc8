// Launches of the matrix paths: the numbers that a configuration and a call give the kernel.
#include <algorithm>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/gemm/arrange.h"
#include "templates/gemm/matrix.h"
#include "templates/gemm/nvidia.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in matrix_gemm.hip.
struct Params {
  const void *x, *w, *scale_x, *scale_w;
  void* c;
  void* partial;
  std::int64_t x_stride, w_stride, c_stride, x_bytes, w_bytes, x_batch, w_batch, c_batch, scale_x_bytes, scale_w_bytes;
  std::int32_t m, n, x_chunks, w_chunks, scale_x_stride, scale_w_stride, scale_blocks, stages_k, full, part, parts,
      in_runs;
};

/// Blocks of a stream-K launch: one for each compute unit of an MI355X.
constexpr std::int64_t stream_blocks = 256;

struct Geometry {
  Geometry(const MatrixShape& shape, const Config& config)
      : bm(parameter(config, "bm")),
        bn(parameter(config, "bn")),
        bk(parameter(config, "bk")),
        split(parameter(config, "split_k")),
        tiles(ceil_div(shape.m, bm) * ceil_div(shape.n, bn)),
        stages(ceil_div(shape.k, bk)),
        part(split <= 1 ? stages : ceil_div(stages, split)),
        parts(split == 0 ? std::min(stream_blocks, tiles * stages) : ceil_div(stages, part)) {}
  std::int64_t bm, bn, bk, split, tiles, stages, part, parts;
};

}  // namespace

MatrixOperand matrix_operand(DType type, std::int64_t rows, std::int64_t k, std::int64_t row_stride, bool shuffled) {
  const std::int64_t row = bytes_of(type, k);
  if (shuffled) {
    return {shuffle_rows * row, static_cast<std::int64_t>(shuffled_weight_bytes(rows, row)), row / shuffle_bytes};
  }
  const std::int64_t stride = bytes_of(type, row_stride);
  return {stride, (rows - 1) * stride + row, row / shuffle_bytes};
}

MatrixScales matrix_scales(Scaling scaling, bool weights, std::int64_t rows, std::int64_t k, std::int64_t row_stride) {
  switch (scaling) {
    case Scaling::mx:
      return {ceil_div(k / 32, scale_unit_cols) * scale_unit_rows * scale_unit_cols,
              static_cast<std::int64_t>(shuffled_scale_bytes(rows, k / 32))};
    case Scaling::group: {
      const std::int64_t groups = ceil_div(k, 128);
      const std::int64_t scale_rows = weights ? ceil_div(rows, 128) : groups, scale_cols = weights ? groups : rows;
      return {4 * row_stride, 4 * ((scale_rows - 1) * row_stride + scale_cols)};
    }
    default:
      return {};
  }
}

std::int64_t matrix_scale_blocks(const MatrixFormat& format, std::int64_t k) {
  return format.scale_x == Scaling::group ? ceil_div(k, 128) : k / 32;
}

std::int64_t matrix_workspace_bytes(const MatrixShape& shape, const Config& config) {
  if (is_nvidia_path(config)) return 0;
  const Geometry g(shape, config);
  if (g.split == 0) return 4 * 2 * g.parts * g.bm * g.bn;
  return g.split == 1 ? 0 : 4 * g.parts * shape.batch * shape.m * shape.n;
}

std::vector<Launch> matrix_launches(const MatrixFormat& format, const MatrixShape& shape, const Config& config,
                                    const MatrixViews& views) {
  if (is_nvidia_path(config)) return nvidia_launches(format, shape, config, views);
  require_chunks(views.x, format.x, "gemm", "A");
  require_chunks(views.w, format.w, "gemm", "B");
  const Geometry g(shape, config);
  const bool shuffled = parameter(config, "shuffled") == 1;
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const MatrixOperand x = matrix_operand(format.x, shape.m, shape.k, views.x.row_stride, false);
  const MatrixOperand w = matrix_operand(format.w, shape.n, shape.k, views.w.row_stride, shuffled);
  const MatrixScales scale_x = matrix_scales(format.scale_x, false, shape.m, shape.k, views.scale_x.row_stride);
  const MatrixScales scale_w = matrix_scales(format.scale_w, true, shape.n, shape.k, views.scale_w.row_stride);
  const std::int64_t out_bytes = static_cast<std::int64_t>(size_of(format.out));
  const bool in_runs = reinterpret_cast<std::uintptr_t>(views.c.data) % 16 == 0 && shape.n % 4 == 0 &&
                       views.c.row_stride * out_bytes % 16 == 0 && views.c.batch_stride * out_bytes % 16 == 0;
  const Params params{views.x.data,
                      views.w.data,
                      views.scale_x.data,
                      views.scale_w.data,
                      views.c.data,
                      g.split == 1 ? nullptr : views.workspace,
                      x.stride,
                      w.stride,
                      views.c.row_stride,
                      x.bytes,
                      w.bytes,
                      bytes_of(format.x, views.x.batch_stride),
                      shuffled ? w.bytes : bytes_of(format.w, views.w.batch_stride),
                      views.c.batch_stride,
                      scale_x.bytes,
                      scale_w.bytes,
                      i32(shape.m),
                      i32(shape.n),
                      i32(x.row_chunks),
                      i32(w.row_chunks),
                      i32(scale_x.stride),
                      i32(scale_w.stride),
                      i32(matrix_scale_blocks(format, shape.k)),
                      i32(g.stages),
                      i32(shape.k / g.bk),
                      i32(g.part),
                      i32(g.parts),
                      in_runs ? 1 : 0};
  const bool stream = g.split == 0;
  std::vector<Launch> result;
  result.push_back({"gemm_main",
                    {u32(stream ? g.parts : g.tiles), u32(stream ? 1 : g.parts), u32(stream ? 1 : shape.batch)},
                    {u32(matrix_threads(config)), 1, 1},
                    0,
                    pack(params)});
  if (stream) {
    result.push_back({"gemm_reduce", {u32(g.tiles), 1, 1}, {256, 1, 1}, 0, pack(params)});
  } else if (g.split > 1) {
    constexpr std::int64_t per_block = 256 * 8;  // as in gemm_reduce
    result.push_back({"gemm_reduce",
                      {u32(ceil_div(shape.m * shape.n, per_block)), 1, u32(shape.batch)},
                      {256, 1, 1},
                      0,
                      pack(params)});
  }
  return result;
}

}  // namespace wavetune::templates
