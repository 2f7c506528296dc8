#include "templates/moe_combine/moe_combine.h"

#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* y;
  const void* weights;
  void* out;
  std::int64_t y_row, weights_row, out_row;
  std::int32_t m, topk, n;
  std::int32_t aligned;
};

class MoeCombine final : public Operator {
 public:
  std::string_view name() const override { return "moe_combine"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"topk", 1, 64}, {"n", 1, max_cols}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), topk = problem.dim("topk");
    return {{"y", Role::input, type, 1, m * topk, n},
            {"weights", Role::input, DType::f32, 1, m, topk},
            {"out", Role::output, type, 1, m, n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override {
    return tile_kernel("templates/moe_combine/moe_combine.hip");
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), vec = parameter(config, "vec");
    const View &y = call.operands[0], &weights = call.operands[1], &out = call.operands[2];
    const bool aligned = vector_aligned(y, type, vec) && vector_aligned(out, type, vec);
    Launch launch = tile_launch("moe_combine_main", config, m, n);
    launch.params = pack(Params{y.data, weights.data, out.data, y.row_stride, weights.row_stride, out.row_stride,
                                static_cast<std::int32_t>(m), static_cast<std::int32_t>(problem.dim("topk")),
                                static_cast<std::int32_t>(n), aligned});
    return {launch};
  }

  void fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    fill_normal(tensors[0], random);
    fill_uniform(tensors[1], random, 0.0, 2.5);
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), topk = problem.dim("topk");
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t col = 0; col < n; ++col) {
        double sum = 0.0;
        for (std::int64_t j = 0; j < topk; ++j) {
          sum += tensors[1].at(row * topk + j) * tensors[0].at((row * topk + j) * n + col);
        }
        tensors[2].set(row * n + col, sum);
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override {
    return elementwise_tolerance(element_type(problem), 1e-4);
  }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    const auto topk = static_cast<double>(problem.dim("topk"));
    return {m * n * (topk + 1.0) * static_cast<double>(size_of(element_type(problem))) + 4.0 * m * topk,
            2.0 * m * n * topk};
  }
};

}  // namespace

const Operator& moe_combine_operator() {
  static const MoeCombine instance;
  return instance;
}

}  // namespace wavetune::templates
