#include "templates/sample/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/fill.h"
#include "templates/sample/distribution.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t max_vocabulary = std::int64_t{1} << 24;

/// How far from a token's interval `uniform` may be: float sums over the vocabulary.
constexpr double interval_tolerance = 1e-4;
/// How far off the probability may be at which top-p cuts. Tokens between two cuts have no more than this together,
/// which is within interval_tolerance: trying both ends is enough.
constexpr double cut_tolerance = 1e-5;

struct Params {
  const void* logits;
  const void* temperature;
  const void* top_p;
  const void* uniform;
  void* token;
  std::int64_t logits_row, logits_rank;
  std::int32_t shard, ranks;
};

enum Operand : std::size_t { logits, temperature, top_p, uniform, token };

/// A row of the sharded logits as one vector.
std::vector<double> logits_of(const Problem& problem, const HostTensor& tensor, std::int64_t row) {
  const std::int64_t m = problem.dim("m"), ranks = problem.dim("ranks"), shard = problem.dim("n") / ranks;
  std::vector<double> values;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t col = 0; col < shard; ++col) values.push_back(tensor.at((rank * m + row) * shard + col));
  }
  return values;
}

/// Deviation of a drawn token in units of the tolerance; infinite when it is not among the kept tokens.
double deviation_of(const Problem& problem, std::span<const HostTensor> tensors, std::int64_t row, std::int64_t drawn) {
  const std::vector<double> values = logits_of(problem, tensors[logits], row);
  if (drawn < 0 || drawn >= static_cast<std::int64_t>(values.size())) return std::numeric_limits<double>::infinity();
  const Distribution all(values, tensors[temperature].at(row));
  double best = std::numeric_limits<double>::infinity();
  for (const double shift : {-cut_tolerance, 0.0, cut_tolerance}) {
    const double cut = tensors[top_p].at(row);
    const Interval interval = all.interval(static_cast<std::size_t>(drawn), cut >= 1.0 ? cut : cut + shift);
    if (interval.high <= interval.low) continue;
    const double u = tensors[uniform].at(row);
    best = std::min(best, std::max({interval.low - u, u - interval.high, 0.0}) / interval_tolerance);
  }
  return best;
}

class Sample final : public Operator {
 public:
  std::string_view name() const override { return "sample"; }
  std::vector<DType> dtypes() const override { return {DType::f32}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem, {{"m", 1, max_rows}, {"n", 1, max_vocabulary}, {"ranks", 1, 64}});
    if (problem.dim("n") % problem.dim("ranks") != 0) {
      fail(ErrorKind::usage, "sample: ranks={} does not divide n={}", problem.dim("ranks"), problem.dim("n"));
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const std::int64_t m = problem.dim("m"), ranks = problem.dim("ranks");
    return {{"logits", Role::input, DType::f32, ranks, m, problem.dim("n") / ranks},
            {"temperature", Role::input, DType::f32, 1, 1, m},
            {"top_p", Role::input, DType::f32, 1, 1, m},
            {"uniform", Role::input, DType::f32, 1, 1, m},
            {"token", Role::output, DType::i32, 1, 1, m}};
  }

  Space space(const Problem&, const DeviceLimits& limits) const override {
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {1, 64});
    } else {
      space.add("threads", {128, 256, 512, 1024});
    }
    space.require("the block fits the device", [most = limits.max_block_threads](const Config& config) {
      return parameter(config, "threads") <= most;
    });
    return space;
  }
  Config default_config(const Problem&, const DeviceLimits& limits) const override {
    if (is_cpu(limits)) return {{"threads", 1}};
    // 1024 threads would have 64 registers each of an NVIDIA multiprocessor, and spill.
    return {{"threads", std::min(limits.wave_size == 32 ? 512 : 1024, limits.max_block_threads)}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip", "templates/common/block.hip", "templates/common/order.hip",
            "templates/sample/sample.hip"};
  }
  db::NamedInts constants(const Problem&, const Config& config) const override { return config; }

  /// struct Lds of sample.hip.
  std::int64_t static_lds_bytes(const Problem&, const Config& config, std::string_view,
                                const DeviceLimits& limits) const override {
    constexpr std::int64_t digits = 16, group = 32;
    const std::int64_t threads = parameter(config, "threads"), waves = threads / limits.wave_size;
    const std::int64_t words = 4 * (waves * (2 + digits) + threads + 1);
    const std::int64_t doubles = 8 * (threads + ceil_div(threads, group) + 2);
    return ceil_div(words, 8) * 8 + doubles + 8;  // and the winner, padded to the alignment of a double
  }
  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const std::int64_t ranks = problem.dim("ranks");
    const auto& views = call.operands;
    Launch launch;
    launch.kernel = "sample_main";
    launch.block[0] = static_cast<std::uint32_t>(parameter(config, "threads"));
    launch.grid[0] = static_cast<std::uint32_t>(problem.dim("m"));
    launch.params = pack(Params{views[logits].data, views[temperature].data, views[top_p].data, views[uniform].data,
                                views[token].data, views[logits].row_stride, views[logits].batch_stride,
                                static_cast<std::int32_t>(problem.dim("n") / ranks), static_cast<std::int32_t>(ranks)});
    return {launch};
  }

  /// Greedy and drawn rows; every third row on a coarse grid, so that there are ties at the maximum and at the cut.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const std::int64_t m = problem.dim("m"), ranks = problem.dim("ranks"), shard = problem.dim("n") / ranks;
    fill_normal(tensors[logits], random, 3.0);
    fill_uniform(tensors[uniform], random, 0.0, 1.0);
    constexpr double temperatures[] = {0.0, 1.0, 0.6, 1.0, 1.7};
    constexpr double cuts[] = {0.9, 0.95, 1.0, 0.3, 0.999, 0.0, 0.7};
    for (std::int64_t row = 0; row < m; ++row) {
      tensors[temperature].set(row, temperatures[row % static_cast<std::int64_t>(std::size(temperatures))]);
      tensors[top_p].set(row, cuts[row % static_cast<std::int64_t>(std::size(cuts))]);
      if (row % 3 != 0) continue;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        for (std::int64_t col = 0; col < shard; ++col) {
          const std::int64_t at = (rank * m + row) * shard + col;
          tensors[logits].set(at, std::round(tensors[logits].at(at)));
        }
      }
    }
  }

  void reference(const Problem& problem, const Scalars&, std::span<HostTensor> tensors) const override {
    for (std::int64_t row = 0; row < problem.dim("m"); ++row) {
      const std::vector<double> values = logits_of(problem, tensors[logits], row);
      std::size_t chosen = 0;
      if (tensors[temperature].at(row) > 0.0) {
        chosen =
            Distribution(values, tensors[temperature].at(row)).draw(tensors[top_p].at(row), tensors[uniform].at(row));
      } else {
        chosen = static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
      }
      tensors[token].set(row, static_cast<double>(chosen));
    }
  }

  Tolerance tolerance(const Problem&) const override { return {0.0, 0.0}; }
  ComparedOperand compared(const Problem&, std::size_t index) const override {
    return {index == token ? Compared::in_its_own_way : Compared::not_at_all, {}};
  }

  Comparison compare(const Problem& problem, std::span<const HostTensor> got,
                     std::span<const HostTensor> expected) const override {
    Comparison result;
    for (std::int64_t row = 0; row < problem.dim("m"); ++row) {
      const auto drawn = static_cast<std::int64_t>(got[token].at(row));
      const auto wanted = static_cast<std::int64_t>(expected[token].at(row));
      if (drawn == wanted) continue;
      const double deviation = expected[temperature].at(row) > 0.0 ? deviation_of(problem, expected, row, drawn)
                                                                   : std::numeric_limits<double>::infinity();
      if (deviation <= result.worst) continue;
      result.worst = deviation;
      if (deviation > 1.0) {
        result.message =
            fmt::format("token[{}] is {} instead of {} (temperature {}, top_p {}, uniform {})", row, drawn, wanted,
                        expected[temperature].at(row), expected[top_p].at(row), expected[uniform].at(row));
      }
    }
    return result;
  }

  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), n = static_cast<double>(problem.dim("n"));
    return {4.0 * m * n + 16.0 * m, 8.0 * m * n};
  }
};

}  // namespace

const Operator& sample_operator() {
  static const Sample instance;
  return instance;
}

}  // namespace wavetune::templates
