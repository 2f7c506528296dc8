#include "templates/rmsnorm/rmsnorm.h"

#include <cmath>

#include "templates/common/norm.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* x;
  void* residual;
  const void* weight;
  void* y;
  std::int64_t x_row, residual_row, y_row;
  std::int32_t m, n;
  std::int32_t aligned;
  float eps;
};

class RmsNorm final : public Operator {
 public:
  std::string_view name() const override { return "rmsnorm"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_cols}, {"residual", 0, 1}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    std::vector<OperandSpec> specs = {{"x", Role::input, type, 1, m, n}};
    if (problem.dim("residual") != 0) specs.push_back({"residual", Role::inout, type, 1, m, n});
    specs.push_back({"weight", Role::input, type, 1, 1, n});
    specs.push_back({"y", Role::output, type, 1, m, n});
    return specs;
  }
  Scalars default_scalars(const Problem&) const override { return {{"eps", 1e-5}}; }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return norm_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return norm_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override { return norm_kernel("templates/rmsnorm/rmsnorm.hip"); }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config,
                          {{"dtype", element_code(element_type(problem))}, {"residual", problem.dim("residual")}});
  }

  std::int64_t static_lds_bytes(const Problem&, const Config& config, std::string_view,
                                const DeviceLimits& limits) const override {
    return norm_lds_bytes(config, limits);
  }
  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    bool aligned = true;
    for (const View& view : call.operands) aligned = aligned && vector_aligned(view, type, parameter(config, "vec"));
    const auto residual = static_cast<std::size_t>(problem.dim("residual"));
    const View &x = call.operands[0], &weight = call.operands[residual + 1], &y = call.operands[residual + 2];
    Params params{};
    params.x = x.data;
    params.x_row = x.row_stride;
    if (residual != 0) {
      params.residual = call.operands[1].data;
      params.residual_row = call.operands[1].row_stride;
    }
    params.weight = weight.data;
    params.y = y.data;
    params.y_row = y.row_stride;
    params.m = static_cast<std::int32_t>(problem.dim("m"));
    params.n = static_cast<std::int32_t>(problem.dim("n"));
    params.aligned = aligned;
    params.eps = static_cast<float>(scalar(call, "eps"));
    Launch launch = norm_launch("rmsnorm_main", config, problem.dim("m"));
    launch.params = pack(params);
    return {launch};
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const auto residual = static_cast<std::size_t>(problem.dim("residual"));
    for (std::size_t i = 0; i <= residual; ++i) fill_normal(tensors[i], random);
    fill_uniform(tensors[residual + 1], random, 0.5, 1.5);
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    const double eps = scalars.at("eps");
    const HostTensor& x = norm_reference_input(problem, tensors);
    const auto residual = static_cast<std::size_t>(problem.dim("residual"));
    const HostTensor& weight = tensors[residual + 1];
    HostTensor& y = tensors[residual + 2];
    HostTensor normed(y.dtype(), 1);
    for (std::int64_t row = 0; row < m; ++row) {
      double squares = 0.0;
      for (std::int64_t col = 0; col < n; ++col) squares += x.at(row * n + col) * x.at(row * n + col);
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + eps);
      for (std::int64_t col = 0; col < n; ++col) {
        normed.set(0, x.at(row * n + col) * factor);
        y.set(row * n + col, normed.at(0) * weight.at(col));
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override { return norm_tolerance(element_type(problem)); }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    const double tensors = problem.dim("residual") != 0 ? 4.0 : 2.0;
    return {(tensors * m * n + 1.0 * n) * static_cast<double>(size_of(element_type(problem))), 4.0 * m * n};
  }
};

}  // namespace

const Operator& rmsnorm_operator() {
  static const RmsNorm instance;
  return instance;
}

}  // namespace wavetune::templates
