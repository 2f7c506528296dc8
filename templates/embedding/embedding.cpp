#include "templates/embedding/embedding.h"

#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* ids;
  const void* table;
  void* y;
  std::int64_t table_row, y_row;
  std::int32_t m, n, rows;
  std::int32_t aligned;
};

class Embedding final : public Operator {
 public:
  std::string_view name() const override { return "embedding"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_cols}, {"rows", 1, max_rows}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    return {{"ids", Role::input, DType::i32, 1, 1, m},
            {"table", Role::input, type, 1, problem.dim("rows"), n},
            {"y", Role::output, type, 1, m, n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override { return tile_kernel("templates/embedding/embedding.hip"); }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), vec = parameter(config, "vec");
    const View &ids = call.operands[0], &table = call.operands[1], &y = call.operands[2];
    const bool aligned = vector_aligned(table, type, vec) && vector_aligned(y, type, vec);
    Launch launch = tile_launch("embedding_main", config, m, n);
    launch.params =
        pack(Params{ids.data, table.data, y.data, table.row_stride, y.row_stride, static_cast<std::int32_t>(m),
                    static_cast<std::int32_t>(n), static_cast<std::int32_t>(problem.dim("rows")), aligned});
    return {launch};
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    fill_indices(tensors[0], random, 0, problem.dim("rows"));
    // Ids outside the table, beyond either end, must read nothing.
    if (tensors[0].count() > 4) {
      tensors[0].set(1, -1.0);
      tensors[0].set(3, static_cast<double>(problem.dim("rows")));
    }
    fill_normal(tensors[1], random);
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), rows = problem.dim("rows");
    for (std::int64_t row = 0; row < m; ++row) {
      const auto id = static_cast<std::int64_t>(tensors[0].at(row));
      const bool inside = id >= 0 && id < rows;
      for (std::int64_t col = 0; col < n; ++col) {
        tensors[2].set(row * n + col, inside ? tensors[1].at(id * n + col) : 0.0);
      }
    }
  }

  Tolerance tolerance(const Problem& problem) const override { return elementwise_tolerance(element_type(problem)); }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    return {4.0 * m + 2.0 * m * n * static_cast<double>(size_of(element_type(problem))), 0.0};
  }
};

}  // namespace

const Operator& embedding_operator() {
  static const Embedding instance;
  return instance;
}

}  // namespace wavetune::templates
