#include "templates/mla_attention/mla_attention.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "templates/fill.h"
#include "templates/mla_attention/geometry.h"

namespace wavetune::templates {
namespace {

/// Layout of mla::Params in common.hip.
struct Params {
  const void* q;
  const void* cache;
  const void* indices;
  void* out;
  void* partial;
  std::int64_t q_row, cache_row, indices_row, out_row;
  std::int32_t m, heads, topk;
  std::int32_t parts, part_length;
  float scale;
  std::int32_t aligned;
};

class MlaAttention final : public Operator {
 public:
  std::string_view name() const override { return "mla_attention"; }
  std::vector<DType> dtypes() const override { return {DType::f32, DType::bf16}; }

  void check(const Problem& problem) const override {
    check_shape(*this, problem,
                {{"m", 1, max_rows},
                 {"heads", 1, 1024},
                 {"latent", 1, 1024},
                 {"rope", 0, 256},
                 {"topk", 1, 65536},
                 {"slots", 1, max_slots}});
    const AttentionDims d(problem);
    if (d.m * d.heads > std::int64_t{1} << 30) {
      fail(ErrorKind::usage, "mla_attention: m*heads={} is out of range; at most 2^30", d.m * d.heads);
    }
  }

  std::vector<OperandSpec> operands(const Problem& problem) const override {
    const AttentionDims d(problem);
    return {{"q", Role::input, d.type, 1, d.m, d.heads * d.width()},
            {"cache", Role::input, d.type, 1, d.slots, d.width()},
            {"indices", Role::input, DType::i32, 1, d.m, d.topk},
            {"out", Role::output, d.type, 1, d.m, d.heads * d.latent}};
  }
  /// 1 / sqrt(qk_nope_head_dim + qk_rope_head_dim) of GLM-5.2.
  Scalars default_scalars(const Problem&) const override { return {{"scale", 0.0625}}; }

  Space space(const Problem& problem, const DeviceLimits& limits) const override {
    return attention_space(AttentionDims(problem), limits);
  }
  Config default_config(const Problem& problem, const DeviceLimits& limits) const override {
    return attention_default(AttentionDims(problem), limits);
  }

  std::vector<std::string> source_files() const override {
    return {"templates/mla_attention/common.hip", "templates/mla_attention/serial.hip",
            "templates/mla_attention/block.hip", "templates/mla_attention/mla_attention.hip"};
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const AttentionDims d(problem);
    db::NamedInts constants =
        with_constants(config, {{"dtype", element_code(d.type)}, {"latent", d.latent}, {"rope", d.rope}});
    constants.erase("parts");  // a launch parameter: its values share one code object
    return constants;
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const AttentionDims d(problem);
    const std::int64_t parts = parameter(config, "parts");
    return parts == 1 ? 0 : 4 * parts * d.m * d.heads * (d.latent + 2);
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const AttentionDims d(*call.problem);
    const View &q = call.operands[0], &cache = call.operands[1], &indices = call.operands[2], &out = call.operands[3];
    const std::int64_t index_tile = parameter(config, "index_tile"), vec = parameter(config, "vec");
    const bool split = parameter(config, "parts") > 1;
    const std::int64_t part_length = ceil_div(ceil_div(d.topk, parameter(config, "parts")), index_tile) * index_tile;
    const std::int64_t parts = ceil_div(d.topk, part_length);
    const bool aligned = vector_aligned(q, d.type, vec) && vector_aligned(cache, d.type, vec);
    const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const Params params{q.data,
                        cache.data,
                        indices.data,
                        out.data,
                        split ? call.workspace : nullptr,
                        q.row_stride,
                        cache.row_stride,
                        indices.row_stride,
                        out.row_stride,
                        i32(d.m),
                        i32(d.heads),
                        i32(d.topk),
                        i32(parts),
                        i32(part_length),
                        static_cast<float>(call.scalars->at("scale")),
                        aligned ? 1 : 0};
    std::vector<Launch> result;
    result.push_back({"mla_attention_main",
                      {u32(d.m * ceil_div(d.heads, parameter(config, "heads_per_block"))), u32(parts), 1},
                      {u32(parameter(config, "threads")), 1, 1},
                      u32(attention_lds_bytes(config, d)),
                      pack(params)});
    if (split) result.push_back({"mla_attention_combine", {u32(d.m * d.heads), 1, 1}, {64, 1, 1}, 0, pack(params)});
    return result;
  }

  /// Different random slots for each query; some lists end early with -1, one in eight is very short, and with several
  /// queries one has no token at all.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const AttentionDims d(problem);
    fill_normal(tensors[0], random);
    fill_normal(tensors[1], random);
    for (std::int64_t token = 0; token < d.m; ++token) {
      std::int64_t count = std::min(d.topk, d.slots);
      if (token % 8 == 5) count = std::min<std::int64_t>(count, 3);
      if (token % 3 == 1) count -= static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
      if (token == 2) count = 0;
      HostTensor chosen(DType::i32, count);
      fill_distinct(chosen, random, d.slots);
      for (std::int64_t i = 0; i < d.topk; ++i) tensors[2].set(token * d.topk + i, i < count ? chosen.at(i) : -1.0);
    }
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const AttentionDims d(problem);
    const double scale = scalars.at("scale");
    std::vector<double> weights(static_cast<std::size_t>(d.topk));
    std::vector<double> q(static_cast<std::size_t>(d.width())), sums(static_cast<std::size_t>(d.latent));
    std::vector<std::vector<double>> keys;
    for (std::int64_t token = 0; token < d.m; ++token) {
      keys.clear();
      for (std::int64_t i = 0; i < d.topk; ++i) {
        const auto slot = static_cast<std::int64_t>(tensors[2].at(token * d.topk + i));
        if (slot < 0) continue;
        std::vector<double>& key = keys.emplace_back(static_cast<std::size_t>(d.width()));
        for (std::size_t x = 0; x < key.size(); ++x)
          key[x] = tensors[1].at(slot * d.width() + static_cast<std::int64_t>(x));
      }
      for (std::int64_t head = 0; head < d.heads; ++head) {
        const std::int64_t q_begin = (token * d.heads + head) * d.width();
        for (std::size_t x = 0; x < q.size(); ++x) q[x] = tensors[0].at(q_begin + static_cast<std::int64_t>(x));
        double maximum = -INFINITY, total = 0;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          double score = 0;
          for (std::size_t x = 0; x < q.size(); ++x) score += q[x] * keys[i][x];
          weights[i] = scale * score;
          maximum = std::max(maximum, weights[i]);
        }
        std::ranges::fill(sums, 0.0);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const double weight = std::exp(weights[i] - maximum);
          total += weight;
          for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += weight * keys[i][x];
        }
        for (std::size_t x = 0; x < sums.size(); ++x) {
          tensors[3].set((token * d.heads + head) * d.latent + static_cast<std::int64_t>(x),
                         total > 0 ? sums[x] / total : 0.0);
        }
      }
    }
  }

  /// Float: a score is a sum of `width` products, and its error enters the weights through exp. bf16: the matrix path
  /// rounds probabilities to bf16, an error of up to 2^-9 of each, which averages out over the list.
  Tolerance tolerance(const Problem& problem) const override {
    return AttentionDims(problem).type == DType::bf16 ? Tolerance{2e-2, 2e-2} : Tolerance{1e-4, 1e-4};
  }

  Cost cost(const Problem& problem) const override {
    const AttentionDims d(problem);
    // Every query reads its own list; keys that several queries list are needed once, so at most all slots.
    const std::int64_t keys = std::min(d.m * std::min(d.topk, d.slots), d.slots);
    const std::int64_t rows = d.m * d.heads * (d.width() + d.latent) + keys * d.width();
    const double pairs = static_cast<double>(d.m * d.heads) * static_cast<double>(std::min(d.topk, d.slots));
    return {static_cast<double>(rows) * static_cast<double>(size_of(d.type)) + 4.0 * static_cast<double>(d.m * d.topk),
            2.0 * pairs * static_cast<double>(d.width() + d.latent)};
  }
};

}  // namespace

const Operator& mla_attention_operator() {
  static const MlaAttention op;
  return op;
}

}  // namespace wavetune::templates
