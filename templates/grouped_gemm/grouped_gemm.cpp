#include "templates/grouped_gemm/grouped_gemm.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "templates/gemm/product.h"
#include "templates/grouped_gemm/reference.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in grouped_gemm.hip.
struct Params {
  const void* x;
  const void* w;
  const void* order;
  const void* offsets;
  void* out;
  void* partial;
  std::int64_t x_row, w_row, w_batch, out_row;
  std::int32_t pairs, experts, n, k;
  std::int32_t k_part, parts;
  std::int32_t slots, by_row;
  std::int32_t aligned;
};

ProductShape shape_of(const GroupedDims& d) {
  return {d.type, static_cast<int>(d.parts()), ceil_div(d.pairs(), d.experts), d.n, d.k};
}

class GroupedGemm final : public Operator {
 public:
  std::string_view name() const override { return "grouped_gemm"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }

  void check(const Problem& problem) const override {
    check_shape(*this, problem,
                {{"m", 1, max_rows},
                 {"topk", 1, 64},
                 {"experts", 1, 4096},
                 {"n", 1, max_cols},
                 {"k", 1, max_cols},
                 {"swiglu", 0, 1}});
    const GroupedDims d(problem);
    if (d.topk > d.experts)
      fail(ErrorKind::usage, "grouped_gemm: topk={} is larger than experts={}", d.topk, d.experts);
    if (d.pairs() > max_rows)
      fail(ErrorKind::usage, "grouped_gemm: m*topk={} is out of range; at most {}", d.pairs(), max_rows);
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const GroupedDims d(problem);
    return {{"x", Role::input, d.type, 1, d.x_rows(), d.k},
            {"w", Role::input, d.type, d.experts, d.parts() * d.n, d.k},
            {"order", Role::input, DType::i32, 1, 1, d.pairs()},
            {"offsets", Role::input, DType::i32, 1, 1, d.experts + 1},
            {"out", Role::output, d.type, 1, d.pairs(), d.n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return product_space(shape_of(GroupedDims(problem)), limits).add("slots_first", {0, 1});
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return with_constants(product_default(shape_of(GroupedDims(problem)), limits), {{"slots_first", 1}});
  }

  std::vector<std::string> source_files() const override {
    return {"templates/gemm/product.hip", "templates/grouped_gemm/grouped_gemm.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const GroupedDims d(problem);
    return with_constants(product_constants(config, d.type),
                          {{"swiglu", d.swiglu}, {"topk", d.topk}, {"slots_first", parameter(config, "slots_first")}});
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const GroupedDims d(problem);
    const std::int64_t split = parameter(config, "split_k");
    return split == 1 ? 0 : 4 * split * d.pairs() * d.parts() * d.n;
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const GroupedDims d(*call.problem);
    const View &x = call.operands[0], &w = call.operands[1], &out = call.operands[4];
    const std::int64_t vec = parameter(config, "vec"), bm = parameter(config, "bm");
    const bool split = parameter(config, "split_k") > 1;
    const std::int64_t k_part = product_k_part(config, d.k);
    const std::int64_t parts = ceil_div(d.k, k_part);
    // An upper bound of the tiles of rows that any routing can make.
    const std::int64_t by_expert = d.pairs() / bm + d.experts;
    const std::int64_t slots = std::min(d.pairs(), by_expert);
    const bool aligned = vector_aligned(x, d.type, vec) && vector_aligned(w, d.type, vec);
    const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const Params params{x.data,
                        w.data,
                        call.operands[2].data,
                        call.operands[3].data,
                        out.data,
                        split ? call.workspace : nullptr,
                        x.row_stride,
                        w.row_stride,
                        w.batch_stride,
                        out.row_stride,
                        i32(d.pairs()),
                        i32(d.experts),
                        i32(d.n),
                        i32(d.k),
                        i32(k_part),
                        i32(parts),
                        i32(slots),
                        d.pairs() <= by_expert ? 1 : 0,
                        aligned ? 1 : 0};
    const std::int64_t tiles_n = ceil_div(d.n, parameter(config, "bn"));
    std::vector<Launch> result;
    result.push_back({"grouped_gemm_main",
                      {u32(slots * tiles_n), u32(parts), 1},
                      {u32(product_threads(config)), 1, 1},
                      u32(product_lds_bytes(config, d.type, static_cast<int>(d.parts()))),
                      pack(params)});
    if (split) {
      constexpr std::int64_t per_block = 256 * 8;  // as in grouped_gemm_reduce
      result.push_back(
          {"grouped_gemm_reduce", {u32(ceil_div(d.pairs() * d.n, per_block)), 1, 1}, {256, 1, 1}, 0, pack(params)});
    }
    return result;
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    grouped_gemm_fill(GroupedDims(problem), random, tensors);
  }
  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    grouped_gemm_reference(GroupedDims(problem), tensors);
  }
  Tolerance tolerance(const Problem& problem) const override {
    const DType type = GroupedDims(problem).type;
    Tolerance limit = product_tolerance(type, type);
    // silu(g) * u with outliers in both: the error of one factor is scaled by the other.
    limit.absolute *= 4;
    return limit;
  }

  Cost cost(const Problem& problem) const override {
    const GroupedDims d(problem);
    const auto experts = static_cast<double>(d.experts), topk = static_cast<double>(d.topk);
    // Experts that at least one of m tokens chooses, expected for uniform routing: E (1 - (1 - topk / E)^m).
    const double touched = experts * (1.0 - std::pow(1.0 - topk / experts, static_cast<double>(d.m)));
    const double weights = static_cast<double>(d.parts() * d.n) * static_cast<double>(d.k);
    const double activations = static_cast<double>(d.x_rows() * d.k + d.pairs() * d.n);
    return {
        (touched * weights + activations) * static_cast<double>(size_of(d.type)) + 4.0 * static_cast<double>(d.pairs()),
        2.0 * static_cast<double>(d.pairs()) * weights};
  }
};

}  // namespace

const Operator& grouped_gemm_operator() {
  static const GroupedGemm op;
  return op;
}

}  // namespace wavetune::templates
