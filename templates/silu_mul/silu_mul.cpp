#include "templates/silu_mul/silu_mul.h"

#include <cmath>

#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* x;
  void* y;
  std::int64_t x_row, y_row;
  std::int32_t m, n;
  std::int32_t aligned;
};

class SiluMul final : public Operator {
 public:
  std::string_view name() const override { return "silu_mul"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_cols}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    return {{"x", Role::input, type, 1, m, 2 * n}, {"y", Role::output, type, 1, m, n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override { return tile_kernel("templates/silu_mul/silu_mul.hip"); }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), vec = parameter(config, "vec");
    const View &x = call.operands[0], &y = call.operands[1];
    const bool aligned = vector_aligned(x, type, vec) && vector_aligned(y, type, vec) && n % vec == 0;
    Launch launch = tile_launch("silu_mul_main", config, m, n);
    launch.params = pack(Params{x.data, y.data, x.row_stride, y.row_stride, static_cast<std::int32_t>(m),
                                static_cast<std::int32_t>(n), aligned});
    return {launch};
  }

  void fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    fill_normal(tensors[0], random, 2.0);
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t col = 0; col < n; ++col) {
        const double gate = tensors[0].at(row * 2 * n + col);
        const double up = tensors[0].at(row * 2 * n + n + col);
        tensors[1].set(row * n + col, gate / (1.0 + std::exp(-gate)) * up);
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override { return elementwise_tolerance(element_type(problem)); }

  Cost cost(const Problem& problem) const override {
    const double count = static_cast<double>(problem.dim("m")) * static_cast<double>(problem.dim("n"));
    return {3.0 * count * static_cast<double>(size_of(element_type(problem))), 5.0 * count};
  }
};

}  // namespace

const Operator& silu_mul_operator() {
  static const SiluMul instance;
  return instance;
}

}  // namespace wavetune::templates
