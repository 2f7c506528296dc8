// Which problem and which configurations stand for an operator in a number format. The tests on the device under test
// and those with hipRTC take the same, so that what is compiled for gfx950 is also computed and compared.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "templates/registry.h"

namespace wavetune::templates::test {

/// Points of a family's space: 30, or as WAVETUNE_TEST_SAMPLES says.
inline std::size_t family_points() {
  const char* const text = std::getenv("WAVETUNE_TEST_SAMPLES");
  return text == nullptr ? 30 : std::stoul(text);
}

/// By "operator_format": what GLM-5.2 runs in a decode step of 32 sequences over four devices, and its quantised
/// products.
inline const std::map<std::string, Problem>& families() {
  static const std::map<std::string, Problem> all = [] {
    std::map<std::string, Problem> problems;
    const auto add = [&problems](const char* op, const char* dtype, db::NamedInts dims) {
      problems.emplace(std::string(op) + "_" + dtype, Problem{op, dtype, std::move(dims)});
    };
    for (const char* dtype :
         {"f32", "bf16", "bf16_f32", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"}) {
      add("gemm", dtype, {{"batch", 1}, {"m", 64}, {"n", 6144}, {"k", 4096}});
    }
    for (const char* dtype : {"bf16", "fp8_block", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"}) {
      add("grouped_gemm", dtype, {{"m", 64}, {"topk", 9}, {"experts", 257}, {"n", 512}, {"k", 6144}, {"swiglu", 1}});
    }
    for (const char* dtype : {"fp8_block", "fp8_token", "mxfp4"}) add("quantize", dtype, {{"m", 32}, {"k", 6144}});
    add("all_reduce", "bf16", {{"m", 32}, {"n", 6144}, {"ranks", 4}});
    add("cache_write", "bf16", {{"m", 32}, {"n", 576}, {"slots", 131072}});
    add("embedding", "bf16", {{"m", 32}, {"n", 6144}, {"rows", 154880}});
    add("indexer_scores", "bf16",
        {{"context", 4096},
         {"heads", 32},
         {"m", 32},
         {"n", 128},
         {"page", 16},
         {"pages", 512},
         {"sequences", 32},
         {"slots", 131072}});
    add("layernorm", "bf16", {{"m", 32}, {"n", 128}, {"residual", 0}});
    add("mla_attention", "bf16",
        {{"heads", 16}, {"latent", 512}, {"m", 32}, {"rope", 64}, {"slots", 131072}, {"topk", 2048}});
    add("moe_combine", "bf16", {{"m", 32}, {"n", 6144}, {"topk", 9}});
    add("moe_sort", "i32", {{"experts", 257}, {"m", 32}, {"topk", 9}});
    add("rmsnorm", "bf16", {{"m", 32}, {"n", 6144}, {"residual", 1}});
    add("rope", "bf16", {{"heads", 16}, {"m", 32}, {"n", 64}});
    add("router", "f32", {{"experts", 256}, {"m", 32}, {"shared", 1}, {"topk", 8}});
    add("sample", "f32", {{"m", 32}, {"n", 38720}, {"ranks", 4}});
    add("silu_mul", "bf16", {{"m", 32}, {"n", 3072}});
    add("topk_select", "f32",
        {{"m", 32}, {"context", 4096}, {"topk", 2048}, {"sequences", 32}, {"pages", 512}, {"page", 16}});
    return problems;
  }();
  return all;
}

/// In an order that the seed decides, the same with every standard library.
inline std::vector<Config> shuffled(std::vector<Config> configs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = configs.size(); i > 1; --i) std::swap(configs[i - 1], configs[random() % i]);
  return configs;
}

/// The default configuration and `count` - 1 others spread at random over the valid part of the space, evenly over its
/// paths where it has such; all of it when it is smaller.
inline std::vector<Config> family_sample(const Problem& problem, const DeviceLimits& limits, std::size_t count) {
  const Operator& op = get_operator(problem.op);
  std::vector<Config> all = shuffled(op.space(problem, limits).enumerate(), 7);
  std::map<std::int64_t, std::vector<Config>> by_path;
  for (Config& config : all) {
    const auto path = config.find("path");
    by_path[path == config.end() ? 0 : path->second].push_back(std::move(config));
  }
  std::vector<Config> sample{op.default_config(problem, limits)};
  for (std::size_t round = 0; sample.size() < count; ++round) {
    bool any = false;
    for (const auto& [path, configs] : by_path) {
      if (round >= configs.size() || sample.size() == count) continue;
      any = true;
      if (configs[round] != sample.front()) sample.push_back(configs[round]);
    }
    if (!any) break;
  }
  return sample;
}

/// Up to `count` configurations of one path, at random.
inline std::vector<Config> path_sample(const Problem& problem, const DeviceLimits& limits, std::int64_t path,
                                       std::size_t count) {
  std::vector<Config> all = get_operator(problem.op).space(problem, limits).enumerate();
  std::erase_if(all, [path](const Config& config) { return config.at("path") != path; });
  all = shuffled(std::move(all), 11);
  all.resize(std::min(all.size(), count));
  return all;
}

}  // namespace wavetune::templates::test
