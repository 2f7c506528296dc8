#include "templates/all_reduce/all_reduce.h"

#include <fmt/format.h>

#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

/// Devices of one node.
constexpr std::int64_t max_ranks = 8;

struct Params {
  const void* in[max_ranks];
  void* out;
  std::int64_t in_row[max_ranks];
  std::int64_t out_row;
  std::int32_t m, n, ranks;
  std::int32_t aligned;
};

class AllReduce final : public Operator {
 public:
  std::string_view name() const override { return "all_reduce"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_cols}, {"ranks", 1, max_ranks}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    std::vector<OperandSpec> specs;
    for (std::int64_t rank = 0; rank < problem.dim("ranks"); ++rank) {
      specs.push_back({fmt::format("in{}", rank), Role::input, type, 1, m, n});
    }
    specs.push_back({"out", Role::output, type, 1, m, n});
    return specs;
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override { return tile_kernel("templates/all_reduce/all_reduce.hip"); }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), vec = parameter(config, "vec");
    const auto ranks = static_cast<std::size_t>(problem.dim("ranks"));
    const View& out = call.operands[ranks];
    Params params{};
    bool aligned = vector_aligned(out, type, vec);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const View& in = call.operands[rank];
      params.in[rank] = in.data;
      params.in_row[rank] = in.row_stride;
      aligned = aligned && vector_aligned(in, type, vec);
    }
    params.out = out.data;
    params.out_row = out.row_stride;
    params.m = static_cast<std::int32_t>(m);
    params.n = static_cast<std::int32_t>(n);
    params.ranks = static_cast<std::int32_t>(ranks);
    params.aligned = aligned;
    Launch launch = tile_launch("all_reduce_main", config, m, n);
    launch.params = pack(params);
    return {launch};
  }

  void fill(const Problem&, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    for (std::size_t rank = 0; rank + 1 < tensors.size(); ++rank) fill_normal(tensors[rank], random);
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const auto ranks = static_cast<std::size_t>(problem.dim("ranks"));
    for (std::int64_t i = 0; i < tensors[ranks].count(); ++i) {
      double sum = 0.0;
      for (std::size_t rank = 0; rank < ranks; ++rank) sum += tensors[rank].at(i);
      tensors[ranks].set(i, sum);
    }
  }

  Tolerance tolerance(const Problem& problem) const override {
    return elementwise_tolerance(element_type(problem), 1e-4);
  }

  Cost cost(const Problem& problem) const override {
    const double count = static_cast<double>(problem.dim("m")) * static_cast<double>(problem.dim("n"));
    const auto ranks = static_cast<double>(problem.dim("ranks"));
    return {count * (ranks + 1.0) * static_cast<double>(size_of(element_type(problem))), count * (ranks - 1.0)};
  }
};

}  // namespace

const Operator& all_reduce_operator() {
  static const AllReduce instance;
  return instance;
}

}  // namespace wavetune::templates
