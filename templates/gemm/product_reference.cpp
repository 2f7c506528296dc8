#include "templates/gemm/product_reference.h"

#include <algorithm>
#include <random>

#include "templates/common/launch.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in reference.hip.
struct Params {
  const void* x;
  const void* x_scale;
  const void* w;
  const void* w_scale;
  const void* order;
  const void* offsets;
  void* out;
  std::int64_t x_rows, rows, n, k;
  std::int32_t x_type, w_type;
  std::int32_t x_scaling, w_scaling;
  std::int32_t out_type, swiglu, topk;
};

constexpr std::int64_t edge = 64;         // of a block's tile
constexpr std::int64_t most_tiles = 512;  // of rows that blocks stand side by side for; they walk over the others

std::int32_t operand_code(DType type) {
  switch (type) {
    case DType::fp8:
      return 2;
    case DType::fp4:
      return 3;
    default:
      return element_code(type);
  }
}

}  // namespace

Launch product_reference_launch(const ReferenceProduct& product, const ReferenceBuffers& buffers) {
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const MatrixFormat& format = product.format;
  const Params params{buffers.x,
                      buffers.x_scale,
                      buffers.w,
                      buffers.w_scale,
                      buffers.order,
                      buffers.offsets,
                      buffers.out,
                      product.x_rows,
                      product.rows,
                      product.n,
                      product.k,
                      operand_code(format.x),
                      operand_code(format.w),
                      i32(static_cast<std::int64_t>(format.scale_x)),
                      i32(static_cast<std::int64_t>(format.scale_w)),
                      element_code(format.out),
                      product.swiglu ? 1 : 0,
                      i32(product.topk)};
  return {
      "reference_product",
      {u32(ceil_div(product.n, edge)), u32(std::min(most_tiles, ceil_div(product.rows, edge))), u32(product.groups)},
      {256, 1, 1},
      0,
      pack(params)};
}

std::vector<std::int64_t> spread_over(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> chosen;
  const std::int64_t stretches = std::min(count, most);
  std::mt19937_64 random(static_cast<std::uint64_t>(count));
  for (std::int64_t i = 0; i < stretches; ++i) {
    const std::int64_t begin = i * count / stretches, end = (i + 1) * count / stretches;
    chosen.push_back(begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end - begin)));
  }
  if (!chosen.empty()) {
    chosen.front() = 0;
    chosen.back() = count - 1;
  }
  return chosen;
}

}  // namespace wavetune::templates
