#include "templates/mla_attention/geometry.h"

#include <algorithm>

#include "templates/mla_attention/tensor.h"

namespace wavetune::templates {
namespace {

// Values of "path"; see mla_attention.hip.
constexpr std::int64_t serial = 0, plain = 1, matrix = 2;

std::int64_t run_of(DType type) { return 16 / static_cast<std::int64_t>(size_of(type)); }

/// Largest vector up to `most` that divides both parts of a cache row.
std::int64_t widest_vector(const AttentionDims& d, std::int64_t most) {
  std::int64_t vec = most;
  while (d.latent % vec != 0 || d.width() % vec != 0) vec /= 2;
  return vec;
}

std::int64_t heads_above(std::int64_t heads) {
  std::int64_t power = 1;
  while (power < heads) power *= 2;
  return power;
}

bool matrix_fits(const AttentionDims& d) { return d.latent % 16 == 0 && d.width() % (4 * run_of(d.type)) == 0; }

bool suits_path(const Config& c, const AttentionDims& d, std::int64_t wave) {
  const std::int64_t heads = c.at("heads_per_block"), threads = c.at("threads"), vec = c.at("vec");
  switch (c.at("path")) {
    case serial:
      return heads * c.at("tile") <= 16;  // vectors of sums; 32 registers hold them and their operands
    case plain: {
      // Vectors of sums of a thread; more of them spill on AMD. With one head a block there is no way to have fewer.
      const std::int64_t sums = ceil_div(heads * d.latent, vec * threads);
      // The threads of a head meet in shuffles: they are of one wave.
      return heads <= heads_above(d.heads) && threads >= heads && threads <= wave * heads && (sums <= 4 || heads == 1);
    }
    default:
      return heads == 16 && threads <= 1024 && ceil_div(d.latent / 16, threads / 64) <= 16 &&
             vec == std::min(run_of(d.type), widest_vector(d, run_of(d.type)));
  }
}

}  // namespace

AttentionDims::AttentionDims(const Problem& p)
    : m(p.dim("m")),
      heads(p.dim("heads")),
      latent(p.dim("latent")),
      rope(p.dim("rope")),
      topk(p.dim("topk")),
      slots(p.dim("slots")),
      type(element_type(p)) {}

std::int64_t attention_lds_bytes(const Config& config, const AttentionDims& d) {
  const std::int64_t heads = config.at("heads_per_block"), index_tile = config.at("index_tile");
  if (config.at("path") == serial) return 4 * heads * (d.width() + d.latent + index_tile);
  // Keys, queries and probabilities in the storage type, scores and two numbers a head in float; rows padded by 16
  // bytes.
  const std::int64_t run = run_of(d.type), size = static_cast<std::int64_t>(size_of(d.type));
  return size * ((index_tile + heads) * (d.width() + run) + heads * (index_tile + run)) + 4 * heads * (index_tile + 2);
}

Space attention_space(const AttentionDims& d, const DeviceLimits& limits) {
  if (tensor_fits(d, limits)) return tensor_space(d, limits);
  Space space;
  std::vector<std::int64_t> vectors;
  for (std::int64_t vec = widest_vector(d, is_cpu(limits) ? 16 : run_of(d.type)); vec >= 1 && vectors.size() < 3;
       vec /= 2) {
    vectors.insert(vectors.begin(), vec);
  }
  if (is_cpu(limits)) {
    space.add("path", {serial}).add("heads_per_block", {1, 2, 4, 8, 16}).add("index_tile", {8, 16, 32, 64, 128});
    space.add("tile", {1, 2, 4, 8}).add("vec", vectors).add("threads", {1}).add("parts", {1, 2, 4, 8});
  } else {
    std::vector<std::int64_t> paths{plain};
    if (limits.wave_size == 64 && matrix_fits(d)) paths.push_back(matrix);  // wt::mma16 has the layout of 64 lanes
    space.add("path", paths).add("heads_per_block", {1, 2, 4, 8, 16}).add("index_tile", {16, 32, 64, 128});
    std::vector<std::int64_t> threads{64, 128, 256, 512};
    if (limits.wave_size < 64) threads.insert(threads.begin(), limits.wave_size);  // one head a block
    space.add("tile", {1}).add("vec", vectors).add("threads", threads);
    space.add("parts", {1, 2, 4, 8, 16, 32});
  }
  space.require("heads, threads and vectors suit the path",
                [d, wave = limits.wave_size](const Config& c) { return suits_path(c, d, wave); });
  space.require(
      "a block has no more heads than there are, rounded up to a power of two (matrix tiles have 16)",
      [d](const Config& c) { return c.at("path") == matrix || c.at("heads_per_block") <= heads_above(d.heads); });
  space.require("keys, queries and scores fit in LDS",
                [d, most = limits.lds_bytes](const Config& c) { return attention_lds_bytes(c, d) <= most; });
  space.require("the block fits the device",
                [most = limits.max_block_threads](const Config& c) { return c.at("threads") <= most; });
  space.require(
      "each part of the list has at least one tile, and a tile is not much longer than the list", [d](const Config& c) {
        const std::int64_t parts = c.at("parts"), index_tile = c.at("index_tile");
        return parts == 1 ? index_tile <= std::max<std::int64_t>(16, 2 * d.topk) : d.topk / parts >= index_tile;
      });
  return space;
}

Config attention_default(const AttentionDims& d, const DeviceLimits& limits) {
  const std::int64_t heads = heads_above(d.heads);
  if (is_cpu(limits)) {
    return {{"path", serial},
            {"heads_per_block", std::min<std::int64_t>(heads, 4)},
            {"index_tile", 16},
            {"tile", 4},
            {"vec", widest_vector(d, 16)},
            {"threads", 1},
            {"parts", 1}};
  }
  if (tensor_fits(d, limits)) return tensor_default(d, limits);
  const std::int64_t vec = widest_vector(d, run_of(d.type));
  if (limits.wave_size == 64 && matrix_fits(d) && d.latent <= 1024) {
    return {{"path", matrix}, {"heads_per_block", 16}, {"index_tile", 16}, {"tile", 1},
            {"vec", vec},     {"threads", 256},        {"parts", 1}};
  }
  const std::int64_t wave = limits.wave_size;
  const std::int64_t block_heads = ceil_div(d.latent, wave * vec) <= 4 ? std::min<std::int64_t>(heads, 4) : 1;
  return {{"path", plain}, {"heads_per_block", block_heads}, {"index_tile", 16}, {"tile", 1},
          {"vec", vec},    {"threads", wave * block_heads},  {"parts", 1}};
}

}  // namespace wavetune::templates
