#include "templates/mla_attention/tensor.h"

#include <algorithm>

#include "templates/common/nvidia.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t wave = 32, matrix_heads = 16, row_unit = 16;

std::int64_t groups_of(const AttentionDims& d) { return ceil_div(d.heads, matrix_heads); }

std::int64_t share_of_columns(const AttentionDims& d) { return ceil_div(d.latent, 128); }  // of a combining block

/// What a block is made of beside its ring.
struct Block {
  std::int64_t threads, index_tile;
};

bool suits(const Block& block, const AttentionDims& d) {
  const std::int64_t waves = block.threads / wave, tokens = block.index_tile / waves, cols = d.latent / waves;
  if (d.latent % waves != 0 || cols % 16 != 0 || tokens % 8 != 0 || tokens < 8 || tokens > 16) return false;
  constexpr std::int64_t most = 208;  // registers of the queries and the sums, of 255 that a thread has
  return d.width() / 4 + cols / 2 <= most;
}

std::int64_t lds_bytes(const Block& block, std::int64_t stages, const AttentionDims& d) {
  const std::int64_t waves = block.threads / wave;
  // Tiles; probabilities and maxima, two of each; bits of the tokens there are; barriers.
  return stages * block.index_tile * (2 * d.width() + row_unit) + 2 * matrix_heads * (2 * block.index_tile + row_unit) +
         2 * matrix_heads * waves * 4 + stages * waves * 4 + (stages + 1) * 8;
}

Block block_of(const Config& config) { return {parameter(config, "threads"), parameter(config, "index_tile")}; }

constexpr std::int64_t most_parts = 64;

struct Ring {
  Block block;
  std::int64_t stages;
};
/// The first is the one for rows of GLM-5.2; the others are for what it does not fit.
constexpr Ring rings[] = {{{256, 64}, 3}, {{128, 32}, 3}, {{128, 32}, 2}};

/// tensor_cluster.hip: sums, maxima and totals lie where the ring was, and a block's columns are whole accesses.
bool cluster_fits(const Ring& ring, std::int64_t cluster, const AttentionDims& d) {
  const std::int64_t sums = matrix_heads * (d.latent + 6) * 4;
  return cluster == 1 ||
         (sums <= ring.stages * ring.block.index_tile * (2 * d.width() + row_unit) && d.latent % (4 * cluster) == 0);
}

const Ring* default_ring(const AttentionDims& d, const DeviceLimits& limits) {
  const auto* const found = std::ranges::find_if(rings, [&](const Ring& ring) {
    return suits(ring.block, d) && lds_bytes(ring.block, ring.stages, d) <= limits.lds_bytes;
  });
  return found == std::end(rings) ? nullptr : found;
}

}  // namespace

bool is_tensor_path(const Config& config) { return parameter(config, "path") == tensor_path; }

bool tensor_fits(const AttentionDims& d, const DeviceLimits& limits) {
  return has_copy_engine(limits) && d.type == DType::bf16 && d.width() % 32 == 0 && d.latent % 64 == 0 &&
         default_ring(d, limits) != nullptr;
}

Space tensor_space(const AttentionDims& d, const DeviceLimits& limits) {
  Space space;
  space.add("path", {tensor_path}).add("heads_per_block", {matrix_heads}).add("tile", {1}).add("vec", {8});
  space.add("index_tile", {32, 64}).add("threads", {128, 256}).add("stages", {2, 3, 4, 5, 6});
  space.add("parts", {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 22, 32, most_parts});
  space.add("cluster", {1, 2, 4}).add("overlap", {0, 1});
  space.require("each wave scores 8 or 16 tokens, and queries and sums fit in registers", {"threads", "index_tile"},
                [d](const Config& c) { return suits(block_of(c), d); });
  space.require(
      "the ring of tiles fits in LDS", {"threads", "index_tile", "stages"},
      [d, most = limits.lds_bytes](const Config& c) { return lds_bytes(block_of(c), c.at("stages"), d) <= most; });
  space.require("the parts of a list are as many as the blocks of a cluster", {"parts", "cluster"},
                [](const Config& c) { return c.at("cluster") == 1 || c.at("cluster") == c.at("parts"); });
  space.require("each part of the list has at least one tile", {"parts", "index_tile"},
                [d](const Config& c) { return c.at("parts") == 1 || d.topk / c.at("parts") >= c.at("index_tile"); });
  space.require("the sums of a cluster's block fit into its ring", {"threads", "index_tile", "stages", "cluster"},
                [d](const Config& c) {
                  return cluster_fits({block_of(c), c.at("stages")}, c.at("cluster"), d);
                });
  return space;
}

Config tensor_default(const AttentionDims& d, const DeviceLimits& limits) {
  const Ring& ring = *default_ring(d, limits);
  // As many parts as fill the device once.
  std::int64_t parts = 1;
  while (2 * parts <= most_parts && 2 * parts * d.m * groups_of(d) <= limits.cu_count &&
         d.topk / (2 * parts) >= ring.block.index_tile) {
    parts *= 2;
  }
  return {{"path", tensor_path},
          {"heads_per_block", matrix_heads},
          {"tile", 1},
          {"vec", 8},
          {"index_tile", ring.block.index_tile},
          {"threads", ring.block.threads},
          {"stages", ring.stages},
          {"parts", parts},
          {"cluster", parts == 2 && cluster_fits(ring, parts, d) ? parts : 1},
          {"overlap", 1}};
}

std::int64_t tensor_lds_bytes(const Config& config, const AttentionDims& d) {
  return lds_bytes(block_of(config), parameter(config, "stages"), d);
}

TensorGrid::TensorGrid(const Config& config, const AttentionDims& d) {
  const std::int64_t index_tile = parameter(config, "index_tile"), wanted = parameter(config, "parts");
  part_length = ceil_div(ceil_div(d.topk, wanted), index_tile) * index_tile;
  const bool clustered = parameter(config, "cluster") > 1;
  parts = clustered ? wanted : ceil_div(d.topk, part_length);
  combines = !clustered && wanted > 1;
}

std::int64_t tensor_workspace_bytes(const Config& config, const AttentionDims& d) {
  const TensorGrid grid(config, d);
  return grid.combines ? 4 * grid.parts * d.m * d.heads * (d.latent + 2) : 0;
}

std::vector<std::string> tensor_source_files() {
  return {"templates/common/overlap.hip", "templates/mla_attention/tensor.hip",
          "templates/mla_attention/tensor_parts.hip", "templates/mla_attention/tensor_cluster.hip"};
}

std::vector<std::string> tensor_files(const Config& config) {
  std::vector<std::string> files{"templates/mla_attention/common.hip", "templates/mla_attention/tensor.hip"};
  files.emplace_back(parameter(config, "cluster") > 1 ? "templates/mla_attention/tensor_cluster.hip"
                                                      : "templates/mla_attention/tensor_parts.hip");
  if (parameter(config, "overlap") == 1) files.emplace_back("templates/common/overlap.hip");
  return files;
}

std::vector<Launch> tensor_launches(const Config& config, const AttentionDims& d, std::vector<std::byte> params) {
  const TensorGrid grid(config, d);
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  std::vector<Launch> result;
  result.push_back({"mla_attention_main",
                    {u32(d.m * groups_of(d)), u32(grid.parts), 1},
                    {u32(parameter(config, "threads")), 1, 1},
                    u32(tensor_lds_bytes(config, d)),
                    params});
  if (grid.combines) {
    result.push_back(
        {"mla_attention_combine", {u32(d.m * d.heads * share_of_columns(d)), 1, 1}, {128, 1, 1}, 0, std::move(params)});
  }
  return result;
}

}  // namespace wavetune::templates
