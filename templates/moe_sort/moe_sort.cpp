#include "templates/moe_sort/moe_sort.h"

#include <algorithm>

#include "templates/common/launch.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t max_experts = 4096;

struct Params {
  const void* ids;
  void* order;
  void* offsets;
  void* counts;
  std::int64_t ids_row;
  std::int32_t m, topk, experts, chunks;
};

/// Chunks of pairs, one a block; 1 when a single block sorts everything.
std::int64_t chunk_count(const Problem& problem, const Config& config) {
  const std::int64_t threads = parameter(config, "threads");
  return threads == 1 ? 1 : ceil_div(problem.dim("m") * problem.dim("topk"), threads);
}

class MoeSort final : public Operator {
 public:
  std::string_view name() const override { return "moe_sort"; }
  std::vector<DType> dtypes() const override { return {DType::i32}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"topk", 1, 64}, {"experts", 1, max_experts}});
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const std::int64_t m = problem.dim("m"), topk = problem.dim("topk");
    return {{"ids", Role::input, DType::i32, 1, m, topk},
            {"order", Role::output, DType::i32, 1, 1, m * topk},
            {"offsets", Role::output, DType::i32, 1, 1, problem.dim("experts") + 1}};
  }

  Space space(const Problem&, const DeviceLimits& limits) const override {
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {1, 256});
    } else {
      space.add("threads", {64, 128, 256, 512, 1024});
    }
    space.require("the block fits the device", [most = limits.max_block_threads](const Config& config) {
      return parameter(config, "threads") <= most;
    });
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits& limits) const override {
    return {{"threads", is_cpu(limits) ? 1 : 256}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/common/block.hip", "templates/moe_sort/moe_sort.hip"};
  }
  db::NamedInts constants(const Problem&, const Config& config) const override { return config; }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const std::int64_t chunks = chunk_count(problem, config);
    return chunks == 1 ? 0 : chunks * problem.dim("experts") * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const std::int64_t experts = problem.dim("experts"), threads = parameter(config, "threads");
    const std::int64_t chunks = chunk_count(problem, config);
    const View &ids = call.operands[0], &order = call.operands[1], &offsets = call.operands[2];
    Launch launch;
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.lds_bytes =
        static_cast<std::uint32_t>((threads + experts + 1) * static_cast<std::int64_t>(sizeof(std::int32_t)));
    launch.params =
        pack(Params{ids.data, order.data, offsets.data, call.workspace, ids.row_stride,
                    static_cast<std::int32_t>(problem.dim("m")), static_cast<std::int32_t>(problem.dim("topk")),
                    static_cast<std::int32_t>(experts), static_cast<std::int32_t>(chunks)});
    launch.kernel = "moe_sort_one";
    if (chunks == 1) return {launch};
    std::vector<Launch> all(3, launch);
    all[0].kernel = "moe_sort_count";
    all[1].kernel = "moe_sort_sums";
    all[2].kernel = "moe_sort_place";
    all[0].grid[0] = all[2].grid[0] = static_cast<std::uint32_t>(chunks);
    return all;
  }

  /// Skewed, as routers are: half of the pairs go to the first eighth of the experts, some experts get none.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const std::int64_t experts = problem.dim("experts");
    fill_indices(tensors[0], random, 0, experts);
    for (std::int64_t i = 0; i < tensors[0].count(); i += 2) {
      tensors[0].set(
          i, static_cast<double>(static_cast<std::int64_t>(tensors[0].at(i)) % std::max<std::int64_t>(experts / 8, 1)));
    }
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    const std::int64_t experts = problem.dim("experts");
    std::int64_t position = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      tensors[2].set(e, static_cast<double>(position));
      for (std::int64_t pair = 0; pair < tensors[0].count(); ++pair) {
        const std::int64_t id =
            std::clamp<std::int64_t>(static_cast<std::int64_t>(tensors[0].at(pair)), 0, experts - 1);
        if (id == e) tensors[1].set(position++, static_cast<double>(pair));
      }
    }
    tensors[2].set(experts, static_cast<double>(position));
  }

  Tolerance tolerance(const Problem&) const override { return {0.0, 0.0}; }

  Cost cost(const Problem& problem) const override {
    const double pairs = static_cast<double>(problem.dim("m")) * static_cast<double>(problem.dim("topk"));
    return {8.0 * pairs + 4.0 * static_cast<double>(problem.dim("experts") + 1), 2.0 * pairs};
  }
};

}  // namespace

const Operator& moe_sort_operator() {
  static const MoeSort instance;
  return instance;
}

}  // namespace wavetune::templates
