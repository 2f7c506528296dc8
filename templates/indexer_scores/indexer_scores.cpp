#include "templates/indexer_scores/indexer_scores.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "templates/common/launch.h"
#include "templates/common/nvidia.h"
#include "templates/common/paged.h"
#include "templates/common/tile.h"
#include "templates/fill.h"
#include "templates/gemm/product.h"

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

/// Whether waves of that many lanes have matrix tiles for keys of n elements, and the vec they go with.
bool has_tiles(DType type, std::int64_t n, std::int64_t wave) {
  return wave == 64 ? n % tile_depth(type) == 0 : type == DType::bf16 && n % 32 == 0;
}
std::int64_t tile_vec(std::int64_t wave) { return wave == 64 ? 1 : 8; }
/// A quarter of a lane's 512 on AMD, half of a thread's 255 on NVIDIA, whose blocks then have up to 256 threads.
std::int64_t most_query_registers(std::int64_t wave) { return wave == 64 ? 128 : 96; }

/// 32-bit registers of a lane that hold its part of a token's queries.
std::int64_t query_registers(const Problem& problem, std::int64_t wave) {
  const std::int64_t elements = ceil_div(problem.dim("heads"), 16) * 16 * problem.dim("n") / wave;
  return elements * static_cast<std::int64_t>(size_of(element_type(problem))) / 4;
}

bool takes_tiles(const Problem& problem, const DeviceLimits& limits) {
  const std::int64_t wave = limits.wave_size;
  return !is_cpu(limits) && has_tiles(element_type(problem), problem.dim("n"), wave) &&
         query_registers(problem, wave) <= most_query_registers(wave);
}

// With stages, each wave has a ring of so many times 16 keys in LDS (warp_ring.hip).
constexpr std::int64_t ring_keys = 16;

bool is_ring(const Config& config) {
  const auto stages = config.find("stages");
  return stages != config.end() && stages->second > 0;
}

/// Keys and an mbarrier for each stage of each wave.
std::int64_t ring_bytes(const Problem& problem, std::int64_t threads, std::int64_t stages) {
  const std::int64_t tile = ring_keys * problem.dim("n") * static_cast<std::int64_t>(size_of(element_type(problem)));
  return threads / 32 * stages * (tile + 8);
}

constexpr std::int64_t default_ring_threads = 128, default_ring_stages = 2;

bool has_rings(const Problem& problem, const DeviceLimits& limits) {
  return has_copy_engine(limits) && takes_tiles(problem, limits) && problem.dim("page") % ring_keys == 0 &&
         ring_bytes(problem, default_ring_threads, default_ring_stages) <= limits.lds_bytes;
}

void add_rings(Space& space, const Problem& problem, const DeviceLimits& limits) {
  space.add("stages", {0, 2, 3, 4});
  space.require("a wave has at least as many tiles as its ring, and without one at most 8", {"tiles", "stages"},
                [](const Config& c) { return is_ring(c) ? c.at("tiles") >= c.at("stages") : c.at("tiles") <= 8; });
  space.require("the rings fit in LDS", {"threads", "stages"}, [problem, most = limits.lds_bytes](const Config& c) {
    return ring_bytes(problem, c.at("threads"), c.at("stages")) <= most;
  });
}

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

  /// tiles = 0: a thread scores a key with vec products at a time. tiles > 0: 64 lanes score that many times 16 keys by
  /// matrix instructions: a wave of 64 tiles of 16 keys, a wave of 32 as many of 8, or of 16 with stages.
  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    const DType type = element_type(problem);
    const std::int64_t n = problem.dim("n");
    const bool rings = has_rings(problem, limits);
    Space space;
    if (is_cpu(limits)) {
      space.add("threads", {64, 256}).add("tiles", {0});
    } else {
      std::vector<std::int64_t> tiles{0, 1, 2, 4, 8};
      if (rings) tiles.push_back(16);
      space.add("threads", {64, 128, 256, 512}).add("tiles", tiles);
    }
    if (rings) add_rings(space, problem, limits);
    space.add("vec", vector_widths(type, limits));
    space.require("vec divides n", [n](const Config& config) { return n % parameter(config, "vec") == 0; });
    const std::int64_t wave = limits.wave_size;
    space.require("matrix tiles take vec=1 and divide n; in waves of 32 lanes they are of bf16 and take vec=8",
                  [n, type, wave](const Config& config) {
                    return parameter(config, "tiles") == 0 ||
                           (parameter(config, "vec") == tile_vec(wave) && has_tiles(type, n, wave));
                  });
    space.require("the queries fit in registers", [problem, wave](const Config& config) {
      return parameter(config, "tiles") == 0 || query_registers(problem, wave) <= most_query_registers(wave);
    });
    return space;
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    const DType type = element_type(problem);
    const std::int64_t n = problem.dim("n");
    const std::int64_t wave = limits.wave_size;
    if (has_rings(problem, limits)) {
      return {
          {"threads", default_ring_threads}, {"tiles", 4}, {"vec", tile_vec(wave)}, {"stages", default_ring_stages}};
    }
    if (takes_tiles(problem, limits)) {
      return {{"threads", wave == 64 ? 256 : 128}, {"tiles", 2}, {"vec", tile_vec(wave)}};
    }
    std::int64_t vec = vector_widths(type, limits).back();
    while (n % vec != 0) vec /= 2;
    return {{"threads", 64}, {"tiles", 0}, {"vec", vec}};
  }

  std::vector<std::string> source_files() const override {
    return {"templates/common/start.hip",
            "templates/common/paged.hip",
            "templates/indexer_scores/keys.hip",
            "templates/indexer_scores/warp_tiles.hip",
            "templates/indexer_scores/indexer_scores.hip",
            "templates/indexer_scores/warp_ring.hip"};
  }
  std::vector<std::string> kernel_files(const Config& config) const override {
    std::vector<std::string> files = source_files();
    const auto ring = files.end() - 1;
    if (is_ring(config)) {
      files.erase(files.begin() + 3, ring);
    } else {
      files.erase(ring);
    }
    return files;
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    return with_constants(config, {{"dtype", element_code(element_type(problem))},
                                   {"heads", problem.dim("heads")},
                                   {"n", problem.dim("n")},
                                   {"page", problem.dim("page")}});
  }

  std::int64_t row_alignment(const Problem&, const Config& config) const override { return is_ring(config) ? 16 : 1; }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const Problem& problem = *call.problem;
    const DType type = element_type(problem);
    const std::int64_t threads = parameter(config, "threads"), tiles = parameter(config, "tiles");
    const std::int64_t context = problem.dim("context");
    const auto& views = call.operands;
    const std::int64_t vec = parameter(config, "vec");
    const std::int64_t width = tiles > 0 ? std::max(tile_fragment(type), vec) : vec;
    const bool aligned = vector_aligned(views[q], type, width) && vector_aligned(views[cache], type, width);
    std::int64_t keys_per_block = tiles > 0 ? threads / 64 * tiles * 16 : threads;
    Launch launch;
    if (is_ring(config)) {
      require_chunks(views[q], type, name(), "q");
      require_chunks(views[cache], type, name(), "cache");
      keys_per_block = threads / 32 * tiles * ring_keys;
      launch.lds_bytes = static_cast<std::uint32_t>(ring_bytes(problem, threads, parameter(config, "stages")));
    }
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
    const double scale = scalars.at("scale");
    tbb::parallel_for(std::int64_t{0}, problem.dim("m"), [&](std::int64_t row) {
      const auto own_sequence = static_cast<std::int64_t>(tensors[sequence].at(row));
      const auto seen = std::clamp<std::int64_t>(static_cast<std::int64_t>(tensors[positions].at(row)) + 1, 0, context);
      const std::vector<float> queries = to_floats(tensors[q], row * heads * n, heads * n);
      std::vector<float> keys;
      for (std::int64_t s = 0; s < seen; ++s) {
        const std::int64_t slot = slot_of(problem, tensors[block_table], own_sequence, s);
        const std::vector<float> key = to_floats(tensors[cache], slot * n, n);
        keys.insert(keys.end(), key.begin(), key.end());
      }
      const std::vector<double> dots = multiply_transposed(queries, keys, heads, seen, n);
      for (std::int64_t s = 0; s < context; ++s) {
        double score = s < seen ? 0.0 : -std::numeric_limits<double>::infinity();
        for (std::int64_t head = 0; s < seen && head < heads; ++head) {
          const double dot = dots[static_cast<std::size_t>(head * seen + s)];
          score += tensors[w].at(row * heads + head) * std::max(dot, 0.0);
        }
        tensors[scores].set(row * context + s, s < seen ? scale * score : score);
      }
    });
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
};

}  // namespace

const Operator& indexer_scores_operator() {
  static const IndexerScores instance;
  return instance;
}

}  // namespace wavetune::templates
