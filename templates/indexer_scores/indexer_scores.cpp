#include "templates/indexer_scores/indexer_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/common/paged.h"
#include "templates/common/tile.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

struct Params {
  const void* q;
  const void* w;
  const void* cache;
  const void* positions;
  const void* sequence;
  const void* block_table;
  void* scores;
  std::int64_t q_row, w_row, cache_row, table_row, scores_row;
  std::int32_t context, slots, sequences, pages;
  std::int32_t aligned;
  float scale;
};

enum Operand : std::size_t { q, w, cache, positions, sequence, block_table, scores };

/// Of the matrix tile (16 x 16 x k): its depth, and the elements of one operand in a lane.
std::int64_t tile_depth(DType type) { return type == DType::bf16 ? 16 : 4; }
std::int64_t tile_fragment(DType type) { return tile_depth(type) / 4; }

class IndexerScores final : public Operator {
 public:
  std::string_view name() const override { return "indexer_scores"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }
  void check(const Problem& problem) const override {
    check_shape(*this, problem,
                {{"m", 1, max_rows},
                 {"heads", 1, 256},
                 {"n", 1, 512},
                 {"context", 1, max_context},
                 {"slots", 1, max_slots},
                 {"sequences", 1, max_rows},
                 {"pages", 1, max_context},
                 {"page", 1, 1 << 16}});
    check_pages(*this, problem);
    if (problem.dim("slots") < problem.dim("page")) {
      fail(ErrorKind::usage, "indexer_scores: slots={} is less than one page={}", problem.dim("slots"),
           problem.dim("page"));
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const DType type = element_type(problem);
    const std::int64_t m = problem.dim("m"), heads = problem.dim("heads"), n = problem.dim("n");
    return {{"q", Role::input, type, 1, m, heads * n},
            {"w", Role::input, DType::f32, 1, m, heads},
            {"cache", Role::input, type, 1, problem.dim("slots"), n},
            {"positions", Role::input, DType::i32, 1, 1, m},
            {"sequence", Role::input, DType::i32, 1, 1, m},
            {"block_table", Role::input, DType::i32, 1, problem.dim("sequences"), problem.dim("pages")},
            {"scores", Role::output, DType::f32, 1, m, problem.dim("context")}};
  }
  Scalars default_scalars(const Problem& problem) const override {
    return {{"scale", 1.0 / std::sqrt(static_cast<double>(problem.dim("n") * problem.dim("heads")))}};
  }

  /// tiles = 0: a thread scores a key with vec products at a time. tiles > 0: a wave scores that many matrix tiles of
  /// keys.
  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    const DType type = element_type(problem);
    const std::int64_t n = problem.dim("n");
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {64, 256}).add("tiles", {0});
    } else {
      space.add("threads", {64, 128, 256, 512}).add("tiles", {0, 1, 2, 4, 8});
    }
    space.add("vec", vector_widths(type, limits));
    space.require("vec divides n", [n](const Config& config) { return n % parameter(config, "vec") == 0; });
    space.require("matrix tiles use vec=1, divide n, and need waves of 64 lanes",
                  [n, type, wave = limits.wave_size](const Config& config) {
                    return parameter(config, "tiles") == 0 ||
                           (parameter(config, "vec") == 1 && n % tile_depth(type) == 0 && wave == 64);
                  });
    // The queries of a token in registers: a quarter of a lane's 512.
    space.require("the queries fit in registers", [problem](const Config& config) {
      return parameter(config, "tiles") == 0 || query_registers(problem) <= 128;
    });
    return space;
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    const DType type = element_type(problem);
    const std::int64_t n = problem.dim("n");
    if (!is_cpu(limits) && limits.wave_size == 64 && n % tile_depth(type) == 0 && query_registers(problem) <= 128) {
      return {{"threads", 256}, {"tiles", 2}, {"vec", 1}};
    }
    std::int64_t vec = vector_widths(type, limits).back();
    while (n % vec != 0) vec /= 2;
    return {{"threads", 64}, {"tiles", 0}, {"vec", vec}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/paged.hip", "templates/indexer_scores/indexer_scores.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))},
                                   {"heads", problem.dim("heads")},
                                   {"n", problem.dim("n")},
                                   {"page", problem.dim("page")}});
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t threads = parameter(config, "threads"), tiles = parameter(config, "tiles");
    const std::int64_t context = problem.dim("context");
    const auto& views = call.operands;
    const std::int64_t width = tiles > 0 ? tile_fragment(type) : parameter(config, "vec");
    const bool aligned = vector_aligned(views[q], type, width) && vector_aligned(views[cache], type, width);
    const std::int64_t keys_per_block = tiles > 0 ? threads / 64 * tiles * 16 : threads;
    Launch launch;
    launch.kernel = "indexer_scores_main";
    launch.block[0] = static_cast<std::uint32_t>(threads);
    launch.grid[0] = static_cast<std::uint32_t>(problem.dim("m"));
    launch.grid[1] = static_cast<std::uint32_t>(ceil_div(context, keys_per_block));
    launch.params = pack(Params{
        views[q].data, views[w].data, views[cache].data, views[positions].data, views[sequence].data,
        views[block_table].data, views[scores].data, views[q].row_stride, views[w].row_stride, views[cache].row_stride,
        views[block_table].row_stride, views[scores].row_stride, static_cast<std::int32_t>(context),
        static_cast<std::int32_t>(problem.dim("slots")), static_cast<std::int32_t>(problem.dim("sequences")),
        static_cast<std::int32_t>(problem.dim("pages")), aligned, static_cast<float>(scalar(call, "scale"))});
    return {launch};
  }

  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    for (const Operand operand : {q, w, cache}) fill_normal(tensors[operand], random);
    fill_pages(problem, random, problem.dim("slots") / problem.dim("page"),
               {tensors[positions], tensors[sequence], tensors[block_table]});
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const std::int64_t heads = problem.dim("heads"), n = problem.dim("n"), context = problem.dim("context");
    for (std::int64_t row = 0; row < problem.dim("m"); ++row) {
      const auto own_sequence = static_cast<std::int64_t>(tensors[sequence].at(row));
      for (std::int64_t s = 0; s < context; ++s) {
        double score = -std::numeric_limits<double>::infinity();
        if (static_cast<double>(s) <= tensors[positions].at(row)) {
          const std::int64_t slot = slot_of(problem, tensors[block_table], own_sequence, s);
          score = 0.0;
          for (std::int64_t head = 0; head < heads; ++head) {
            double dot = 0.0;
            for (std::int64_t col = 0; col < n; ++col) {
              dot += tensors[q].at((row * heads + head) * n + col) * tensors[cache].at(slot * n + col);
            }
            score += tensors[w].at(row * heads + head) * std::max(dot, 0.0);
          }
          score *= scalars.at("scale");
        }
        tensors[scores].set(row * context + s, score);
      }
    }
  }

  Tolerance tolerance(const Problem&) const override { return {1e-4, 1e-4}; }

  /// As if every row looked at the whole context; rows of one sequence share its keys.
  Cost cost(const Problem& problem) const override {
    const auto m = static_cast<double>(problem.dim("m")), context = static_cast<double>(problem.dim("context"));
    const auto heads = static_cast<double>(problem.dim("heads")), n = static_cast<double>(problem.dim("n"));
    const double element = static_cast<double>(size_of(element_type(problem)));
    const double key_rows = std::min(m, static_cast<double>(problem.dim("sequences"))) * context;
    return {element * n * (key_rows + m * heads) + 4.0 * m * (heads + context), m * context * heads * (2.0 * n + 3.0)};
  }

 private:
  /// 32-bit registers of a lane that hold its part of a token's queries.
  static std::int64_t query_registers(const Problem& problem) {
    const std::int64_t elements = ceil_div(problem.dim("heads"), 16) * 16 * problem.dim("n") / 64;
    return elements * static_cast<std::int64_t>(size_of(element_type(problem))) / 4;
  }
};

}  // namespace

const Operator& indexer_scores_operator() {
  static const IndexerScores instance;
  return instance;
}

}  // namespace wavetune::templates
