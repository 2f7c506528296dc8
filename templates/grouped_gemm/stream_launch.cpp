#include "templates/grouped_gemm/stream_launch.h"

#include <algorithm>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/grouped_gemm/matrix_launch.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in stream_grouped.hip.
struct Params {
  const void *x, *w, *scale_x, *scale_w, *order, *offsets;
  void* out;
  std::int64_t x_stride, w_stride, w_expert, scale_w_expert, scale_x_stride, scale_w_stride, out_stride;
  std::int32_t experts, n, x_chunks, w_chunks, stages_k, part, slots, by_row;
};

}  // namespace

std::vector<Launch> grouped_stream_launches(const GroupedDims& d, const Config& config, const Call& call) {
  const GroupedOperands at(d.format);
  const auto view = [&call](int index) { return index < 0 ? View{} : call.operands[static_cast<std::size_t>(index)]; };
  const View x_view = view(0), w_view = view(at.w), out_view = view(at.out());
  require_chunks(x_view, d.format.x, "grouped_gemm", "x");
  require_chunks(w_view, d.format.w, "grouped_gemm", "w");
  const bool shuffled = parameter(config, "shuffled") == 1;
  const std::int64_t columns = d.parts() * d.n;
  const MatrixOperand x = matrix_operand(d.format.x, d.x_rows(), d.k, x_view.row_stride, false);
  const MatrixOperand w = matrix_operand(d.format.w, columns, d.k, w_view.row_stride, shuffled);
  const MatrixScales scale_w = matrix_scales(d.format.scale_w, true, columns, d.k, view(at.scale_w).row_stride);
  // Rows of one expert have 32-bit offsets.
  if (constexpr std::int64_t limit = std::int64_t{1} << 32; w.bytes >= limit) {
    fail(ErrorKind::usage, "grouped_gemm: an expert's w has {} bytes; the stream path takes less than 4 GiB", w.bytes);
  }
  const std::int64_t bm = parameter(config, "bm"), split = parameter(config, "split_k");
  const StreamStages stages = stream_stages(config, d.k);
  const std::int64_t by_expert = d.pairs() / bm + d.experts;  // an upper bound of the tiles that any routing can make
  const std::int64_t slots = std::min(d.pairs(), by_expert);
  const std::int64_t w_batch = static_cast<std::int64_t>(bits_of(d.format.w)) * w_view.batch_stride / 8;
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const Params params{x_view.data,
                      w_view.data,
                      view(at.scale_x).data,
                      view(at.scale_w).data,
                      view(at.order).data,
                      view(at.offsets()).data,
                      out_view.data,
                      x.stride,
                      w.stride,
                      shuffled ? w.bytes : w_batch,
                      d.format.scale_w == Scaling::mx ? scale_w.bytes : 4 * view(at.scale_w).batch_stride,
                      stream_scale_stride(d.format.scale_x, d.k, view(at.scale_x).row_stride),
                      stream_scale_stride(d.format.scale_w, d.k, view(at.scale_w).row_stride),
                      out_view.row_stride,
                      i32(d.experts),
                      i32(d.n),
                      i32(x.row_chunks),
                      i32(w.row_chunks),
                      i32(stages.all),
                      i32(stages.part),
                      i32(slots),
                      d.pairs() <= by_expert ? 1 : 0};
  const std::int64_t tiles_n = ceil_div(d.n, parameter(config, "bn") / d.parts());
  return {{"grouped_gemm_main",
           {u32(slots * tiles_n), u32(split), 1},
           {u32(stream_threads(config)), 1, 1},
           u32(stream_lds_bytes(d.format, d.k, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
