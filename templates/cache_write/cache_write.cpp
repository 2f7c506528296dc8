#include "templates/cache_write/cache_write.h"

#include <algorithm>

#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* src;
  const void* slot;
  void* cache;
  std::int64_t src_row, cache_row;
  std::int32_t m, n, slots;
  std::int32_t aligned;
};

class CacheWrite final : public Operator {
 public:
  std::string_view name() const override { return "cache_write"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_cols}, {"slots", 1, max_slots}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n");
    return {{"src", Role::input, type, 1, m, n},
            {"slot", Role::input, DType::i32, 1, 1, m},
            {"cache", Role::inout, type, 1, problem.dim("slots"), n}};
  }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_space(element_type(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return tile_default(element_type(problem), limits);
  }

  std::vector<std::string> source_files() const override {
    return tile_kernel("templates/cache_write/cache_write.hip");
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), vec = parameter(config, "vec");
    const View &src = call.operands[0], &slot = call.operands[1], &cache = call.operands[2];
    const bool aligned = vector_aligned(src, type, vec) && vector_aligned(cache, type, vec);
    Launch launch = tile_launch("cache_write_main", config, m, n);
    launch.params =
        pack(Params{src.data, slot.data, cache.data, src.row_stride, cache.row_stride, static_cast<std::int32_t>(m),
                    static_cast<std::int32_t>(n), static_cast<std::int32_t>(problem.dim("slots")), aligned});
    return {launch};
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), slots = problem.dim("slots");
    fill_normal(tensors[0], random);
    fill_normal(tensors[2], random);
    // Distinct slots for as many rows as there are; the rest, and now and then one in between, is to be skipped.
    HostTensor distinct(DType::i32, std::min(m, slots));
    fill_distinct(distinct, random, slots);
    for (std::int64_t i = 0; i < m; ++i) {
      tensors[1].set(i, i < distinct.count() && i % 7 != 5 ? distinct.at(i) : -1.0);
    }
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), n = problem.dim("n"), slots = problem.dim("slots");
    for (std::int64_t row = 0; row < m; ++row) {
      const auto slot = static_cast<std::int64_t>(tensors[1].at(row));
      if (slot < 0 || slot >= slots) continue;
      for (std::int64_t col = 0; col < n; ++col) tensors[2].set(slot * n + col, tensors[0].at(row * n + col));
    }
  }

  Tolerance tolerance(const Problem& problem) const override { return elementwise_tolerance(element_type(problem)); }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    return {4.0 * m + 2.0 * m * n * static_cast<double>(size_of(element_type(problem))), 0.0};
  }
};

}  // namespace

const Operator& cache_write_operator() {
  static const CacheWrite instance;
  return instance;
}

}  // namespace wavetune::templates
