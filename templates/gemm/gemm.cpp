#include "templates/gemm/gemm.h"

#include <cmath>

#include "templates/fill.h"
#include "templates/gemm/product.h"

namespace wavetune::templates {
namespace {

/// Layout of Params in gemm.hip.
struct Params {
  const void* a;
  const void* b;
  void* c;
  void* partial;
  std::int64_t a_row, a_batch, b_row, b_batch, c_row, c_batch;
  std::int32_t batch, m, n, k;
  std::int32_t k_part, parts, group_m, aligned;
};

struct Dims {
  explicit Dims(const Problem& p)
      : batch(p.dim_or("batch", 1)), m(p.dim("m")), n(p.dim("n")), k(p.dim("k")), type(split_dtype(p.dtype)) {}
  std::int64_t batch, m, n, k;
  InputOutput type;
  ProductShape shape() const { return {type.input, 1, m, n, k}; }
};

class Gemm final : public Operator {
 public:
  std::string_view name() const override { return "gemm"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }

  void check(const Problem& problem) const override {
    Problem input = problem;
    if (problem.dtype == "bf16_f32") input.dtype = "bf16";
    check_shape(*this, input, {{"batch", 1, 65535}, {"m", 1, max_rows}, {"n", 1, max_cols}, {"k", 1, max_cols}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const Dims d(problem);
    return {{"a", Role::input, d.type.input, d.batch, d.m, d.k},
            {"b", Role::input, d.type.input, d.batch, d.n, d.k},
            {"c", Role::output, d.type.output, d.batch, d.m, d.n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return product_space(Dims(problem).shape(), limits).add("group_m", {1, 8});
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return with_constants(product_default(Dims(problem).shape(), limits), {{"group_m", 8}});
  }

  std::vector<std::string> source_files() const override {
    return {"templates/gemm/product.hip", "templates/gemm/gemm.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const Dims d(problem);
    return with_constants(product_constants(config, d.type.input), {{"out_dtype", element_code(d.type.output)}});
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const Dims d(problem);
    const std::int64_t parts = parameter(config, "split_k");
    return parts == 1 ? 0 : 4 * parts * d.batch * d.m * d.n;
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Dims d(*call.problem);
    const View &a = call.operands[0], &b = call.operands[1], &c = call.operands[2];
    const std::int64_t vec = parameter(config, "vec");
    const bool split = parameter(config, "split_k") > 1;
    const std::int64_t k_part = product_k_part(config, d.k);
    const std::int64_t parts = ceil_div(d.k, k_part);
    const bool aligned = vector_aligned(a, d.type.input, vec) && vector_aligned(b, d.type.input, vec);
    const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const Params params{a.data,
                        b.data,
                        c.data,
                        split ? call.workspace : nullptr,
                        a.row_stride,
                        a.batch_stride,
                        b.row_stride,
                        b.batch_stride,
                        c.row_stride,
                        c.batch_stride,
                        i32(d.batch),
                        i32(d.m),
                        i32(d.n),
                        i32(d.k),
                        i32(k_part),
                        i32(parts),
                        i32(parameter(config, "group_m")),
                        aligned ? 1 : 0};
    const std::int64_t tiles = ceil_div(d.m, parameter(config, "bm")) * ceil_div(d.n, parameter(config, "bn"));
    std::vector<Launch> result;
    result.push_back({"gemm_main",
                      {u32(tiles), u32(parts), u32(d.batch)},
                      {u32(product_threads(config)), 1, 1},
                      u32(product_lds_bytes(config, d.type.input, 1)),
                      pack(params)});
    if (split) {
      constexpr std::int64_t per_block = 256 * 8;  // as in gemm_reduce
      result.push_back(
          {"gemm_reduce", {u32(ceil_div(d.m * d.n, per_block)), 1, u32(d.batch)}, {256, 1, 1}, 0, pack(params)});
    }
    return result;
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    fill_normal(tensors[0], random);
    fill_normal(tensors[1], random, 1.0 / std::sqrt(static_cast<double>(problem.dim("k"))));
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const Dims d(problem);
    for (std::int64_t batch = 0; batch < d.batch; ++batch) {
      const std::vector<float> a = to_floats(tensors[0], batch * d.m * d.k, d.m * d.k);
      const std::vector<float> b = to_floats(tensors[1], batch * d.n * d.k, d.n * d.k);
      const std::vector<double> c = multiply_transposed(a, b, d.m, d.n, d.k);
      for (std::int64_t i = 0; i < d.m * d.n; ++i) {
        tensors[2].set(batch * d.m * d.n + i, c[static_cast<std::size_t>(i)]);
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override {
    const Dims d(problem);
    return product_tolerance(d.type.input, d.type.output);
  }

  Cost cost(const Problem& problem) const override {
    const Dims d(problem);
    const auto size = [](std::int64_t count, DType type) {
      return static_cast<double>(count) * static_cast<double>(size_of(type));
    };
    return {size(d.batch * (d.m + d.n) * d.k, d.type.input) + size(d.batch * d.m * d.n, d.type.output),
            2.0 * static_cast<double>(d.batch * d.m) * static_cast<double>(d.n * d.k)};
  }
};

}  // namespace

const Operator& gemm_operator() {
  static const Gemm op;
  return op;
}

}  // namespace wavetune::templates
