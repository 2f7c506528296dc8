#include "templates/rope/rope.h"

#include <cmath>

#include "db/base/error.h"
#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

/// Pairs of the widest head; GLM-5.2 has 32.
constexpr std::int64_t max_pairs = 64;

struct Params {
  const void* x;
  const void* positions;
  void* y;
  std::int64_t x_row, x_head, y_row, y_head;
  std::int32_t m, heads, pairs;
  std::int32_t aligned;
  float inverse_frequency[max_pairs];
};

/// As torch computes 1 / theta ** (arange(0, n, 2).float() / n): in float throughout.
float inverse_frequency(double theta, std::int64_t pair, std::int64_t n) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(n);
  return 1.0f / std::pow(static_cast<float>(theta), exponent);
}

class Rope final : public Operator {
 public:
  std::string_view name() const override { return "rope"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"heads", 1, 65535}, {"n", 2, 2 * max_pairs}});
    if (problem.dim("n") % 2 != 0) fail(ErrorKind::usage, "rope: n={} must be even", problem.dim("n"));
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), heads = problem.dim("heads");
    return {{"x", Role::input, type, heads, m, n},
            {"positions", Role::input, DType::i32, 1, 1, m},
            {"y", Role::output, type, heads, m, n}};
  }
  Scalars default_scalars(const Problem&) const override { return {{"theta", 8e6}}; }

  Space space(const Problem&, const DeviceLimits& limits) const override {
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {16, 64}).add("heads_per_thread", {8, 64});
    } else {
      space.add("threads", {64, 128, 256}).add("heads_per_thread", {1, 2, 4, 8, 16});
    }
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits& limits) const override {
    if (is_cpu(limits)) return {{"heads_per_thread", 64}, {"threads", 64}};
    return {{"heads_per_thread", 4}, {"threads", 128}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/rope/rope.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), heads = problem.dim("heads");
    const View &x = call.operands[0], &positions = call.operands[1], &y = call.operands[2];
    Params params{x.data,
                  positions.data,
                  y.data,
                  x.row_stride,
                  x.batch_stride,
                  y.row_stride,
                  y.batch_stride,
                  static_cast<std::int32_t>(m),
                  static_cast<std::int32_t>(heads),
                  static_cast<std::int32_t>(n / 2),
                  vector_aligned(x, type, 2) && vector_aligned(y, type, 2),
                  {}};
    for (std::int64_t pair = 0; pair < n / 2; ++pair) {
      params.inverse_frequency[pair] = inverse_frequency(scalar(call, "theta"), pair, n);
    }
    Launch launch;
    launch.kernel = "rope_main";
    const std::int64_t threads = parameter(config, "threads");
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>(ceil_div(m * (n / 2), threads));
    launch.grid[1] = static_cast<std::uint32_t>(ceil_div(heads, parameter(config, "heads_per_thread")));
    launch.params = pack(params);
    return {launch};
  }

  void fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    fill_normal(tensors[0], random);
    fill_indices(tensors[1], random, 0, 1 << 20);
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), heads = problem.dim("heads");
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t pair = 0; pair < n / 2; ++pair) {
        // The angle is a float by definition; its sine and cosine are exact here.
        const float angle = static_cast<float>(tensors[1].at(row)) * inverse_frequency(scalars.at("theta"), pair, n);
        const double sine = std::sin(static_cast<double>(angle)), cosine = std::cos(static_cast<double>(angle));
        for (std::int64_t head = 0; head < heads; ++head) {
          const std::int64_t at = (head * m + row) * n + 2 * pair;
          const double even = tensors[0].at(at), odd = tensors[0].at(at + 1);
          tensors[2].set(at, even * cosine - odd * sine);
          tensors[2].set(at + 1, odd * cosine + even * sine);
        }
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override {
    return elementwise_tolerance(element_type(problem), 1e-5);
  }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    const double count = m * n * static_cast<double>(problem.dim("heads"));
    return {2.0 * count * static_cast<double>(size_of(element_type(problem))) + 4.0 * m, 3.0 * count};
  }
};

}  // namespace

const Operator& rope_operator() {
  static const Rope instance;
  return instance;
}

}  // namespace wavetune::templates
