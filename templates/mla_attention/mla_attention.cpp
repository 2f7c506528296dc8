#include "templates/mla_attention/mla_attention.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "templates/fill.h"
#include "templates/gemm/product.h"
#include "templates/mla_attention/geometry.h"
#include "templates/mla_attention/tensor.h"

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

Params params_of(const Call& call, const AttentionDims& d, bool split, std::int64_t parts, std::int64_t part_length,
                 bool aligned) {
  const View &q = call.operands[0], &cache = call.operands[1], &indices = call.operands[2], &out = call.operands[3];
  const auto i32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return {
      q.data,         cache.data,       indices.data,       out.data,         split ? call.workspace : nullptr,
      q.row_stride,   cache.row_stride, indices.row_stride, out.row_stride,   i32(d.m),
      i32(d.heads),   i32(d.topk),      i32(parts),         i32(part_length), static_cast<float>(scalar(call, "scale")),
      aligned ? 1 : 0};
}

/// One token's heads over the keys of its list: [heads, latent].
std::vector<double> attend(const AttentionDims& d, std::span<const float> q, std::span<const float> keys,
                           double scale) {
  const auto width = static_cast<std::size_t>(d.width()), latent = static_cast<std::size_t>(d.latent);
  const auto heads = static_cast<std::size_t>(d.heads);
  const std::size_t count = keys.size() / width;
  std::vector<double> out(heads * latent);
  if (count == 0) return out;  // nothing to attend to gives 0
  std::vector<double> weights =
      multiply_transposed(q, keys, d.heads, static_cast<std::int64_t>(count), d.width());  // scores
  for (std::size_t head = 0; head < heads; ++head) {
    const std::span<double> own(weights.data() + head * count, count);
    const std::span<double> sums(out.data() + head * latent, latent);
    const double maximum = scale > 0 ? *std::ranges::max_element(own) : *std::ranges::min_element(own);
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = std::exp(scale * (own[i] - maximum));
      total += weight;
      for (std::size_t x = 0; x < latent; ++x) sums[x] += weight * static_cast<double>(keys[i * width + x]);
    }
    for (double& sum : sums) sum /= total;
  }
  return out;
}

/// What paths 0 to 2 are made of.
std::vector<std::string> block_files() {
  return {"templates/mla_attention/common.hip", "templates/mla_attention/serial.hip",
          "templates/mla_attention/block.hip", "templates/mla_attention/mla_attention.hip"};
}

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
    std::vector<std::string> files = block_files();
    for (std::string& file : tensor_source_files()) files.push_back(std::move(file));
    return files;
  }
  std::vector<std::string> kernel_files(const Config& config) const override {
    return is_tensor_path(config) ? tensor_files(config) : block_files();
  }
  db::NamedInts constants(const Problem& problem, const Config& config) const override {
    const AttentionDims d(problem);
    db::NamedInts constants =
        with_constants(config, {{"dtype", element_code(d.type)}, {"latent", d.latent}, {"rope", d.rope}});
    constants.erase("parts");  // a launch parameter: its values share one code object
    return constants;
  }

  std::int64_t row_alignment(const Problem&, const Config& config) const override {
    return is_tensor_path(config) ? 16 : 1;
  }

  std::int64_t workspace_bytes(const Problem& problem, const Config& config) const override {
    const AttentionDims d(problem);
    if (is_tensor_path(config)) return tensor_workspace_bytes(config, d);
    const std::int64_t parts = parameter(config, "parts");
    return parts == 1 ? 0 : 4 * parts * d.m * d.heads * (d.latent + 2);
  }

  std::vector<Launch> launches(const Config& config, const Call& call) const override {
    const AttentionDims d(*call.problem);
    const View &q = call.operands[0], &cache = call.operands[1], &out = call.operands[3];
    if (is_tensor_path(config)) {
      require_chunks(q, d.type, name(), "q");
      require_chunks(cache, d.type, name(), "cache");
      const TensorGrid grid(config, d);
      // Stores of two columns: rows of the output begin at multiples of 4 bytes.
      const bool pairs = vector_aligned(out, d.type, 2);
      return tensor_launches(config, d, pack(params_of(call, d, grid.combines, grid.parts, grid.part_length, pairs)));
    }
    const std::int64_t index_tile = parameter(config, "index_tile"), vec = parameter(config, "vec");
    const bool split = parameter(config, "parts") > 1;
    const std::int64_t part_length = ceil_div(ceil_div(d.topk, parameter(config, "parts")), index_tile) * index_tile;
    const std::int64_t parts = ceil_div(d.topk, part_length);
    const bool aligned = vector_aligned(q, d.type, vec) && vector_aligned(cache, d.type, vec);
    const Params params = params_of(call, d, split, parts, part_length, aligned);
    const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    std::vector<Launch> result;
    result.push_back({"mla_attention_main",
                      {u32(d.m * ceil_div(d.heads, parameter(config, "heads_per_block"))), u32(parts), 1},
                      {u32(parameter(config, "threads")), 1, 1},
                      u32(attention_lds_bytes(config, d)),
                      pack(params)});
    if (split) result.push_back({"mla_attention_combine", {u32(d.m * d.heads), 1, 1}, {64, 1, 1}, 0, pack(params)});
    return result;
  }

  /// Different random slots for each query. Of many queries up to three have other lists: a few tokens, fewer than
  /// wanted, none. That is few enough for times to be those of full lists.
  void fill(const Problem& problem, std::mt19937_64& random, std::span<HostTensor> tensors) const override {
    const AttentionDims d(problem);
    fill_normal(tensors[0], random);
    fill_normal(tensors[1], random);
    const std::int64_t special = std::min<std::int64_t>(d.m / 16, 3);
    for (std::int64_t token = 0; token < d.m; ++token) {
      std::int64_t count = std::min(d.topk, d.slots);
      if (token < special) {
        const std::int64_t counts[] = {std::min<std::int64_t>(count, 3),
                                       count - static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)),
                                       0};
        count = counts[token];
      }
      HostTensor chosen(DType::i32, count);
      fill_distinct(chosen, random, d.slots);
      for (std::int64_t i = 0; i < d.topk; ++i) tensors[2].set(token * d.topk + i, i < count ? chosen.at(i) : -1.0);
    }
  }

  void reference(const Problem& problem, const Scalars& scalars, std::span<HostTensor> tensors) const override {
    const AttentionDims d(problem);
    tbb::parallel_for(std::int64_t{0}, d.m, [&](std::int64_t token) {
      std::vector<float> keys;
      for (std::int64_t i = 0; i < d.topk; ++i) {
        const auto slot = static_cast<std::int64_t>(tensors[2].at(token * d.topk + i));
        if (slot < 0) continue;
        const std::vector<float> key = to_floats(tensors[1], slot * d.width(), d.width());
        keys.insert(keys.end(), key.begin(), key.end());
      }
      const std::vector<float> q = to_floats(tensors[0], token * d.heads * d.width(), d.heads * d.width());
      const std::vector<double> sums = attend(d, q, keys, scalars.at("scale"));
      for (std::size_t x = 0; x < sums.size(); ++x) {
        tensors[3].set(token * d.heads * d.latent + static_cast<std::int64_t>(x), sums[x]);
      }
    });
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
