#include "templates/topk_select/topk_select.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/common/paged.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* scores;
  const void* positions;
  const void* sequence;
  const void* block_table;
  void* indices;
  std::int64_t scores_row, table_row, indices_row;
  std::int32_t context, sequences, pages;
};

enum Operand : std::size_t { scores, positions, sequence, block_table, indices };

class TopkSelect final : public Operator {
 public:
  std::string_view name() const override { return "topk_select"; }
  std::vector<DType> dtypes() const override { return {DType::f32}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem,
                {{"m", 1, max_rows},
                 {"context", 1, max_context},
                 {"topk", 1, 1 << 16},
                 {"sequences", 1, max_rows},
                 {"pages", 1, max_context},
                 {"page", 1, 1 << 16}});
    check_pages(*this, problem);
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const std::int64_t m = problem.dim("m");
    return {{"scores", Role::input, DType::f32, 1, m, problem.dim("context")},
            {"positions", Role::input, DType::i32, 1, 1, m},
            {"sequence", Role::input, DType::i32, 1, 1, m},
            {"block_table", Role::input, DType::i32, 1, problem.dim("sequences"), problem.dim("pages")},
            {"indices", Role::output, DType::i32, 1, m, problem.dim("topk")}};
  }

  Space space(const Problem&, const DeviceLimits& limits) const override {
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {1, 256}).add("radix_bits", {8, 11});
    } else {
      space.add("threads", {128, 256, 512, 1024}).add("radix_bits", {8, 11});
    }
    space.require("the block fits the device", [most = limits.max_block_threads](const Config& config) {
      return parameter(config, "threads") <= most;
    });
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits& limits) const override {
    if (is_cpu(limits)) return {{"radix_bits", 8}, {"threads", 1}};
    return {{"radix_bits", 11}, {"threads", std::min(1024, limits.max_block_threads)}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/common/block.hip", "templates/common/order.hip",
            "templates/common/paged.hip", "templates/topk_select/topk_select.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"topk", problem.dim("topk")}, {"page", problem.dim("page")}});
  }

  /// struct Lds of topk_select.hip.
  std::int64_t static_lds_bytes(const Problem&, const Config& config, std::string_view,
                                const DeviceLimits& limits) const override {
    const std::int64_t bins = std::int64_t{1} << parameter(config, "radix_bits");
    const std::int64_t waves = parameter(config, "threads") / limits.wave_size;
    return 4 * (bins + 2 + 2 * waves);
  }
  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const auto& views = call.operands;
    Launch launch;
    launch.kernel = "topk_select_main";
    launch.block[0] = static_cast<std::uint32_t>(parameter(config, "threads"));
    launch.grid[0] = static_cast<std::uint32_t>(problem.dim("m"));
    launch.params = pack(
        Params{views[scores].data, views[positions].data, views[sequence].data, views[block_table].data,
               views[indices].data, views[scores].row_stride, views[block_table].row_stride, views[indices].row_stride,
               static_cast<std::int32_t>(problem.dim("context")), static_cast<std::int32_t>(problem.dim("sequences")),
               static_cast<std::int32_t>(problem.dim("pages"))});
    return {launch};
  }

  /// Scores on a coarse grid, so that there are ties; beyond the position the best of all scores, which must not be
  /// chosen.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const std::int64_t context = problem.dim("context");
    fill_normal(tensors[scores], random);
    fill_pages(problem, random, problem.dim("sequences") * problem.dim("pages"),
               {tensors[positions], tensors[sequence], tensors[block_table]});
    for (std::int64_t row = 0; row < problem.dim("m"); ++row) {
      for (std::int64_t s = 0; s < context; ++s) {
        const std::int64_t at = row * context + s;
        const double coarse = std::round(tensors[scores].at(at) * 256.0) / 256.0;
        const bool seen = static_cast<double>(s) <= tensors[positions].at(row);
        tensors[scores].set(at, seen ? coarse : std::numeric_limits<double>::infinity());
      }
    }
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t context = problem.dim("context"), topk = problem.dim("topk");
    for (std::int64_t row = 0; row < problem.dim("m"); ++row) {
      const std::int64_t count = std::min(static_cast<std::int64_t>(tensors[positions].at(row)) + 1, context);
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return tensors[scores].at(row * context + a) > tensors[scores].at(row * context + b);
      });
      order.resize(static_cast<std::size_t>(std::min(count, topk)));
      std::sort(order.begin(), order.end());
      for (std::int64_t j = 0; j < topk; ++j) {
        const bool listed = j < static_cast<std::int64_t>(order.size());
        const std::int64_t slot =
            listed ? slot_of(problem, tensors[block_table], static_cast<std::int64_t>(tensors[sequence].at(row)),
                             order[static_cast<std::size_t>(j)])
                   : -1;
        tensors[indices].set(row * topk + j, static_cast<double>(slot));
      }
    }
  }

  Tolerance tolerance(const Problem&) const override { return {0.0, 0.0}; }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), context = static_cast<double>(problem.dim("context"));
    return {4.0 * m * (context + static_cast<double>(problem.dim("topk"))), m * context};
  }
};

}  // namespace

const Operator& topk_select_operator() {
  static const TopkSelect instance;
  return instance;
}

}  // namespace wavetune::templates
