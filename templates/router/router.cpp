#include "templates/router/router.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t max_experts = 1024;

struct Params {
  const void* logits;
  const void* bias;
  void* ids;
  void* weights;
  std::int64_t logits_row, ids_row, weights_row;
  std::int32_t m, experts, topk, shared;
  float scale;
  std::int32_t norm;
};

/// LDS for the scores of a block's rows.
std::int64_t lds_bytes(const Config& config, std::int64_t experts) {
  return parameter(config, "threads") / parameter(config, "threads_per_row") * experts *
         static_cast<std::int64_t>(sizeof(float));
}

class Router final : public Operator {
 public:
  std::string_view name() const override { return "router"; }
  std::vector<DType> dtypes() const override { return {DType::f32}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem,
                {{"m", 1, max_rows}, {"experts", 1, max_experts}, {"topk", 1, max_experts}, {"shared", 0, 64}});
    if (problem.dim("topk") > problem.dim("experts")) {
      fail(ErrorKind::usage, "router: topk={} is more than experts={}", problem.dim("topk"), problem.dim("experts"));
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const std::int64_t m = problem.dim("m"), experts = problem.dim("experts");
    const std::int64_t chosen = problem.dim("topk") + problem.dim("shared");
    return {{"logits", Role::input, DType::f32, 1, m, experts},
            {"bias", Role::input, DType::f32, 1, 1, experts},
            {"ids", Role::output, DType::i32, 1, m, chosen},
            {"weights", Role::output, DType::f32, 1, m, chosen}};
  }
  Scalars default_scalars(const Problem&) const override { return {{"norm", 1.0}, {"scale", 2.5}}; }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {1, 4, 16}).add("threads_per_row", {1});
    } else {
      space.add("threads", {64, 128, 256}).add("threads_per_row", {8, 16, 32, 64});
    }
    space.require("the threads of a row fit in a wave", [wave = limits.wave_size](const Config& config) {
      return parameter(config, "threads_per_row") <= wave;
    });
    space.require("the scores of a block's rows fit in LDS",
                  [experts = problem.dim("experts"), most = limits.lds_bytes](const Config& config) {
                    return lds_bytes(config, experts) <= most;
                  });
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits& limits) const override {
    if (is_cpu(limits)) return {{"threads", 4}, {"threads_per_row", 1}};
    return {{"threads", 64}, {"threads_per_row", 32}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/common/rows.hip", "templates/router/router.hip"};
  }
  db::NamedInts constants(const Problem&, const Config& config) const override { return config; }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const std::int64_t m = problem.dim("m"), experts = problem.dim("experts");
    const View &logits = call.operands[0], &bias = call.operands[1], &ids = call.operands[2];
    const View& weights = call.operands[3];
    const std::int64_t threads = parameter(config, "threads");
    Launch launch;
    launch.kernel = "router_main";
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>(ceil_div(m, threads / parameter(config, "threads_per_row")));
    launch.lds_bytes = static_cast<std::uint32_t>(lds_bytes(config, experts));
    launch.params =
        pack(Params{logits.data, bias.data, ids.data, weights.data, logits.row_stride, ids.row_stride,
                    weights.row_stride, static_cast<std::int32_t>(m), static_cast<std::int32_t>(experts),
                    static_cast<std::int32_t>(problem.dim("topk")), static_cast<std::int32_t>(problem.dim("shared")),
                    static_cast<float>(scalar(call, "scale")), scalar(call, "norm") != 0.0});
    return {launch};
  }

  /// Biased scores are a random order of evenly spaced values: rounding cannot change which experts are chosen.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), experts = problem.dim("experts");
    fill_uniform(tensors[1], random, -0.1, 0.1);
    HostTensor order(DType::i32, experts);
    for (std::int64_t row = 0; row < m; ++row) {
      fill_distinct(order, random, experts);
      for (std::int64_t e = 0; e < experts; ++e) {
        const double biased = 0.12 + 0.76 * (order.at(e) + 0.5) / static_cast<double>(experts);
        const double score = biased - tensors[1].at(e);
        tensors[0].set(row * experts + e, std::log(score / (1.0 - score)));
      }
    }
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), experts = problem.dim("experts"), topk = problem.dim("topk");
    const std::int64_t shared = problem.dim("shared");
    std::vector<double> score(static_cast<std::size_t>(experts)), biased(score.size());
    std::vector<std::size_t> order(score.size());
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::size_t e = 0; e < score.size(); ++e) {
        const auto expert = static_cast<std::int64_t>(e);
        score[e] = 1.0 / (1.0 + std::exp(-tensors[0].at(row * experts + expert)));
        biased[e] = score[e] + tensors[1].at(expert);
      }
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return biased[a] > biased[b]; });
      double sum = 0.0;
      for (std::int64_t j = 0; j < topk; ++j) sum += score[order[static_cast<std::size_t>(j)]];
      const double factor = scalars.at("scale") / (scalars.at("norm") != 0.0 ? sum + 1e-20 : 1.0);
      const std::int64_t out = row * (topk + shared);
      for (std::int64_t j = 0; j < topk; ++j) {
        const std::size_t expert = order[static_cast<std::size_t>(j)];
        tensors[2].set(out + j, static_cast<double>(expert));
        tensors[3].set(out + j, score[expert] * factor);
      }
      for (std::int64_t j = 0; j < shared; ++j) {
        tensors[2].set(out + topk + j, static_cast<double>(experts + j));
        tensors[3].set(out + topk + j, 1.0);
      }
    }
  }

  Tolerance tolerance(const Problem&) const override { return {1e-6, 1e-5}; }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), experts = static_cast<double>(problem.dim("experts"));
    const auto topk = static_cast<double>(problem.dim("topk")), shared = static_cast<double>(problem.dim("shared"));
    return {4.0 * (m * experts + experts) + 8.0 * m * (topk + shared), m * experts * (5.0 + topk)};
  }
};

}  // namespace

const Operator& router_operator() {
  static const Router instance;
  return instance;
}

}  // namespace wavetune::templates
