#include "templates/grouped_gemm/matrix_launch.h"

#include <algorithm>

#include "db/base/error.h"
#include "templates/common/launch.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in grouped_matrix.hip.
struct Params {
  const void *x, *w, *scale_x, *scale_w, *order, *offsets;
  void* out;
  void* partial;
  std::int64_t x_stride, w_stride, w_expert, scale_w_expert, x_bytes, w_bytes, scale_x_bytes, out_stride, out_bytes;
  std::int32_t pairs, experts, n, x_chunks, w_chunks, scale_x_stride, scale_w_stride, scale_blocks;
  std::int32_t stages_k, full, part, parts, slots, by_row, in_runs;
};

}  // namespace

MatrixShape grouped_matrix_shape(const GroupedDims& d) {
  return {1, std::max<std::int64_t>(1, ceil_div(d.pairs(), d.experts)), d.n, d.k, d.parts(), true};
}

GroupedViews::GroupedViews(const GroupedDims& d, const Call& call) {
  const GroupedOperands at(d.format);
  const auto view = [&call](int index) { return index < 0 ? View{} : call.operands[static_cast<std::size_t>(index)]; };
  x = view(0);
  w = view(at.w);
  scale_x = view(at.scale_x);
  scale_w = view(at.scale_w);
  order = view(at.order);
  offsets = view(at.offsets());
  out = view(at.out());
  require_chunks(x, d.format.x, "grouped_gemm", "x");
  require_chunks(w, d.format.w, "grouped_gemm", "w");
}

std::vector<Launch> grouped_matrix_launches(const GroupedDims& d, const Config& config, const Call& call) {
  const GroupedViews views(d, call);
  const bool shuffled = parameter(config, "shuffled") == 1;
  const std::int64_t columns = d.parts() * d.n;
  const MatrixOperand x = matrix_operand(d.format.x, d.x_rows(), d.k, views.x.row_stride, false);
  const MatrixOperand w = matrix_operand(d.format.w, columns, d.k, views.w.row_stride, shuffled);
  const MatrixScales scale_x = matrix_scales(d.format.scale_x, false, d.x_rows(), d.k, views.scale_x.row_stride);
  const MatrixScales scale_w = matrix_scales(d.format.scale_w, true, columns, d.k, views.scale_w.row_stride);
  const std::int64_t out_size = static_cast<std::int64_t>(size_of(d.format.out));
  const std::int64_t out_bytes = ((d.pairs() - 1) * views.out.row_stride + d.n) * out_size;
  // Windows have 32-bit offsets (wt::outside is the last one).
  constexpr std::int64_t window_limit = std::int64_t{0xFFFFFF00};
  for (const auto& [bytes, name] : {std::pair{x.bytes, "x"}, {w.bytes, "an expert's w"}, {out_bytes, "out"}}) {
    if (bytes >= window_limit) {
      fail(ErrorKind::usage, "grouped_gemm: {} has {} bytes; the matrix paths take less than 4 GiB", name, bytes);
    }
  }

  const std::int64_t bm = parameter(config, "bm"), bk = parameter(config, "bk"), split = parameter(config, "split_k");
  const std::int64_t stages = ceil_div(d.k, bk), part = ceil_div(stages, split), parts = ceil_div(stages, part);
  const std::int64_t slots = d.slots(bm);
  const bool in_runs = reinterpret_cast<std::uintptr_t>(views.out.data) % 16 == 0 && d.n % 4 == 0 &&
                       views.out.row_stride * out_size % 16 == 0;
  const std::int64_t w_batch = bytes_of(d.format.w, views.w.batch_stride);
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const Params params{views.x.data,
                      views.w.data,
                      views.scale_x.data,
                      views.scale_w.data,
                      views.order.data,
                      views.offsets.data,
                      views.out.data,
                      split == 1 ? nullptr : call.workspace,
                      x.stride,
                      w.stride,
                      shuffled ? w.bytes : w_batch,
                      d.format.scale_w == Scaling::mx ? scale_w.bytes : 4 * views.scale_w.batch_stride,
                      x.bytes,
                      w.bytes,
                      scale_x.bytes,
                      views.out.row_stride,
                      out_bytes,
                      i32(d.pairs()),
                      i32(d.experts),
                      i32(d.n),
                      i32(x.row_chunks),
                      i32(w.row_chunks),
                      i32(scale_x.stride),
                      i32(scale_w.stride),
                      i32(matrix_scale_blocks(d.format, d.k)),
                      i32(stages),
                      i32(d.k / bk),
                      i32(part),
                      i32(parts),
                      i32(slots),
                      d.slots_by_row(bm) ? 1 : 0,
                      in_runs ? 1 : 0};
  const std::int64_t tiles_n = ceil_div(d.n, parameter(config, "bn") / d.parts());
  std::vector<Launch> result;
  result.push_back({"grouped_gemm_main",
                    {u32(slots * tiles_n), u32(parts), 1},
                    {u32(matrix_threads(config)), 1, 1},
                    0,
                    pack(params)});
  if (split > 1) {
    constexpr std::int64_t per_block = 256 * 8;  // as in grouped_gemm_reduce
    result.push_back(
        {"grouped_gemm_reduce", {u32(ceil_div(d.pairs() * d.n, per_block)), 1, 1}, {256, 1, 1}, 0, pack(params)});
  }
  return result;
}

}  // namespace wavetune::templates
