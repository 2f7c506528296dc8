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
  const GroupedViews views(d, call);
  const bool shuffled = parameter(config, "shuffled") == 1;
  const std::int64_t columns = d.parts() * d.n;
  const MatrixOperand x = matrix_operand(d.format.x, d.x_rows(), d.k, views.x.row_stride, false);
  const MatrixOperand w = matrix_operand(d.format.w, columns, d.k, views.w.row_stride, shuffled);
  const MatrixScales scale_w = matrix_scales(d.format.scale_w, true, columns, d.k, views.scale_w.row_stride);
  // Rows of one expert have 32-bit offsets.
  if (constexpr std::int64_t limit = std::int64_t{1} << 32; w.bytes >= limit) {
    fail(ErrorKind::usage, "grouped_gemm: an expert's w has {} bytes; the stream path takes less than 4 GiB", w.bytes);
  }
  const std::int64_t bm = parameter(config, "bm"), split = parameter(config, "split_k");
  const StreamStages stages = stream_stages(config, d.k);
  const std::int64_t slots = d.slots(bm);
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
                      x.stride,
                      w.stride,
                      shuffled ? w.bytes : w_batch,
                      d.format.scale_w == Scaling::mx ? scale_w.bytes : 4 * views.scale_w.batch_stride,
                      stream_scale_stride(d.format.scale_x, d.k, views.scale_x.row_stride),
                      stream_scale_stride(d.format.scale_w, d.k, views.scale_w.row_stride),
                      views.out.row_stride,
                      i32(d.experts),
                      i32(d.n),
                      i32(x.row_chunks),
                      i32(w.row_chunks),
                      i32(stages.all),
                      i32(stages.part),
                      i32(slots),
                      d.slots_by_row(bm) ? 1 : 0};
  const std::int64_t tiles_n = ceil_div(d.n, parameter(config, "bn") / d.parts());
  return {{"grouped_gemm_main",
           {u32(slots * tiles_n), u32(split), 1},
           {u32(stream_threads(config)), 1, 1},
           u32(stream_lds_bytes(d.format, d.k, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
