#include "templates/grouped_gemm/warpgroup_launch.h"

#include <algorithm>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/gemm/arrange.h"
#include "templates/gemm/tensor_map.h"
#include "templates/grouped_gemm/matrix_launch.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in warpgroup_grouped.hip.
struct Params {
  TensorMap w;
  const void *x, *scale_x, *scale_w, *order, *offsets;
  void* out;
  std::int64_t x_stride, scale_w_expert, out_stride;
  std::int32_t scale_x_stride, scale_w_stride, experts, n, steps, k_bytes, scale_rows, scale_cols, slots, by_row, whole;
};

}  // namespace

bool grouped_has_warpgroup(const GroupedDims& d, const DeviceLimits& limits) {
  MatrixShape shape = grouped_matrix_shape(d);
  shape.m = std::max(shape.m, d.m);  // an expert may get all tokens
  return d.format.scale_x != Scaling::row && has_warpgroup(d.format, shape, limits);
}

std::vector<Launch> grouped_warpgroup_launches(const GroupedDims& d, const Config& config, const Call& call) {
  const GroupedViews views(d, call);
  const View &x = views.x, &w = views.w, &out = views.out;
  const std::int64_t x_stride = bytes_of(d.format.x, x.row_stride), columns = d.parts() * d.n;
  // Rows of X are found by a number of 32 bits, in 16 bytes.
  if (d.x_rows() * x_stride / 16 > std::int64_t{0xFFFFFFFF}) {
    fail(ErrorKind::usage, "grouped_gemm: x has {} rows {} bytes apart; path warpgroup takes at most 64 GiB",
         d.x_rows(), x_stride);
  }
  const std::int64_t bm = parameter(config, "bm"), bn = parameter(config, "bn"), wn = parameter(config, "wn");
  const std::int64_t slots = d.slots(bm);
  const std::int64_t out_size = static_cast<std::int64_t>(size_of(d.format.out));
  const bool whole = reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0 && out.row_stride * out_size % 16 == 0;
  // Shuffled scales of an expert are dense.
  const std::int64_t scale_w_expert = d.format.scale_w == Scaling::mx
                                          ? static_cast<std::int64_t>(shuffled_scale_bytes(columns, d.k / 32))
                                          : 4 * views.scale_w.batch_stride;
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const Params params{tensor_map({w.data, bytes_of(d.format.w, d.k), columns, d.experts,
                                  bytes_of(d.format.w, w.row_stride), bytes_of(d.format.w, w.batch_stride)},
                                 warpgroup_row_bytes_w(d.format), bn / wn / d.parts()),
                      x.data,
                      views.scale_x.data,
                      views.scale_w.data,
                      views.order.data,
                      views.offsets.data,
                      out.data,
                      x_stride,
                      scale_w_expert,
                      out.row_stride,
                      i32(views.scale_x.row_stride),
                      i32(views.scale_w.row_stride),
                      i32(d.experts),
                      i32(d.n),
                      i32(warpgroup_steps(d.format, d.k)),
                      i32(bytes_of(d.format.x, d.k)),
                      i32(ceil_div(columns, scale_unit_rows)),
                      i32(ceil_div(d.k, 32 * scale_unit_cols)),
                      i32(slots),
                      d.slots_by_row(bm) ? 1 : 0,
                      whole ? 1 : 0};
  const std::int64_t units = slots * ceil_div(d.n, bn / d.parts());
  return {{"grouped_gemm_main",
           {static_cast<std::uint32_t>(warpgroup_blocks(config, units)), 1, 1},
           {static_cast<std::uint32_t>(warpgroup_threads(config)), 1, 1},
           static_cast<std::uint32_t>(warpgroup_lds_bytes(d.format, config)),
           pack(params)}};
}

}  // namespace wavetune::templates
