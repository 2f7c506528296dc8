// mla_attention with full, short and empty lists, in all paths, with and without parts.
#include <gtest/gtest.h>

#include <random>

#include "operator_harness.h"
#include "templates/registry.h"

namespace wavetune::templates::test {
namespace {

std::vector<db::NamedInts> shapes() {
  const auto shape = [](std::int64_t m, std::int64_t heads, std::int64_t latent, std::int64_t rope, std::int64_t topk,
                        std::int64_t slots) {
    return db::NamedInts{{"m", m},       {"heads", heads}, {"latent", latent},
                         {"rope", rope}, {"topk", topk},   {"slots", slots}};
  };
  return {shape(9, 8, 64, 32, 100, 333), shape(1, 16, 64, 32, 130, 200), shape(3, 3, 64, 32, 17, 9),
          shape(17, 1, 64, 32, 1, 1)};
}

std::vector<Config> each_path(std::int64_t vec) {
  const auto config = [&](std::int64_t path, std::int64_t heads, std::int64_t index_tile, std::int64_t tile,
                          std::int64_t threads, std::int64_t parts) {
    return Config{{"path", path},  {"heads_per_block", heads}, {"index_tile", index_tile},
                  {"tile", tile},  {"threads", threads},       {"vec", vec},
                  {"parts", parts}};
  };
  return {config(0, 4, 8, 4, 1, 1),    config(0, 2, 16, 8, 1, 4),    config(1, 4, 16, 1, 64, 1),
          config(1, 8, 16, 1, 128, 4), config(2, 16, 32, 1, 128, 1), config(2, 16, 16, 1, 64, 4)};
}

class MlaAttention : public testing::TestWithParam<const char*> {};

TEST_P(MlaAttention, MatchesReference) {
  OperatorCase c{"mla_attention", GetParam(), shapes()};
  c.samples = 3;
  c.configs = each_path(split_dtype(GetParam()).input == DType::f32 ? 4 : 8);
  check_operator(c);
}

TEST_P(MlaAttention, MatchesReferenceForOddRows) {
  // Rows whose length only small vectors divide, and GLM-5.2's own row.
  OperatorCase c{"mla_attention",
                 GetParam(),
                 {{{"m", 3}, {"heads", 2}, {"latent", 20}, {"rope", 6}, {"topk", 40}, {"slots", 50}}}};
  c.samples = 2;
  check_operator(c);
  c.shapes = {{{"m", 2}, {"heads", 8}, {"latent", 512}, {"rope", 64}, {"topk", 300}, {"slots", 1000}}};
  c.layouts = {Layout::dense};
  check_operator(c);
}

/// Configurations of the path for NVIDIA: every block, ring and way of putting parts together.
std::vector<Config> tensor_configs() {
  std::vector<Config> configs;
  const auto add = [&](std::int64_t threads, std::int64_t index_tile, std::int64_t stages, std::int64_t parts,
                       std::int64_t cluster, std::int64_t overlap) {
    configs.push_back({{"path", 3},
                       {"heads_per_block", 16},
                       {"index_tile", index_tile},
                       {"tile", 1},
                       {"vec", 8},
                       {"threads", threads},
                       {"parts", parts},
                       {"stages", stages},
                       {"cluster", cluster},
                       {"overlap", overlap}});
  };
  for (const std::int64_t parts : {1, 2, 3, 16}) add(256, 64, 3, parts, 1, parts == 3);
  for (const std::int64_t parts : {1, 5, 64}) add(128, 32, 3, parts, 1, 0);
  for (const std::int64_t parts : {2, 4}) add(128, 32, 3, parts, parts, 0);
  add(256, 64, 2, 2, 2, 1);
  add(256, 64, 3, 2, 2, 0);
  add(128, 64, 3, 4, 4, 0);
  add(128, 32, 6, 2, 1, 0);
  return configs;
}

/// Holes, repeated tokens, parts without a token, and the last slot, which fill() leaves out.
TestData with_gaps(const Operator& op, const Problem& problem) {
  TestData data = make_data(op, problem, {}, 7);
  HostTensor& indices = data.tensors.at(2);
  const std::int64_t topk = problem.dim("topk"), slots = problem.dim("slots");
  std::mt19937_64 random(11);
  for (std::int64_t token = 0; token < problem.dim("m"); ++token) {
    for (std::int64_t i = 0; i < topk; ++i) {
      auto slot = static_cast<double>(random() % static_cast<std::uint64_t>(slots));
      if (token == 0 && random() % 3 != 0) slot = -1;
      if (token == 1) slot = static_cast<double>(slots - 1 - i % 3);
      if (token == 2 && i < topk / 2) slot = -1;
      if (token == 3 && i % 64 < 40) slot = -1;
      if (token == 4 && i != topk - 1) slot = -1;
      indices.set(token * topk + i, slot);
    }
  }
  data.expected = data.tensors;
  op.reference(problem, data.scalars, data.expected);
  return data;
}

void check_gaps(const db::NamedInts& dims, std::string dtype, std::vector<Config> configs) {
  const Operator& op = get_operator("mla_attention");
  const Problem problem{"mla_attention", std::move(dtype), dims};
  const TestData data = with_gaps(op, problem);
  configs.push_back(op.default_config(problem, device_limits()));
  const bool any_path = gpu_limits().wave_size == 64;
  for (const Config& config : configs) {
    if (!any_path && !op.space(problem, device_limits()).valid(config)) continue;
    const RunResult result = run_operator(op, problem, config, Layout::dense, data);
    EXPECT_TRUE(result.comparison.passes() && result.damage.empty())
        << problem.key() << " with " << db::to_text(config) << ": " << result.comparison.message << result.damage;
  }
}

TEST(MlaAttentionSelection, HolesAndRepeatsAreWhatTheListSays) {
  for (const char* dtype : {"f32", "bf16"}) {
    check_gaps({{"m", 6}, {"heads", 8}, {"latent", 64}, {"rope", 32}, {"topk", 100}, {"slots", 333}}, dtype,
               each_path(split_dtype(dtype).input == DType::f32 ? 4 : 8));
  }
  const bool nvidia = gpu_limits().wave_size == 32;
  for (const std::int64_t heads : {16, 8}) {
    check_gaps(
        {{"m", 6}, {"heads", heads}, {"latent", 512}, {"rope", 64}, {"topk", on_cpu() ? 300 : 2048}, {"slots", 4099}},
        "bf16", nvidia ? tensor_configs() : std::vector<Config>{});
  }
}

TEST(MlaAttentionTensorPath, MatchesReference) {
  if (gpu_limits().wave_size != 32) GTEST_SKIP() << "the path is for NVIDIA GPUs; the device is " << device_spec();
  OperatorCase c{"mla_attention", "bf16", {}};
  for (const std::int64_t heads : {16, 8}) {
    c.shapes.push_back({{"m", 9}, {"heads", heads}, {"latent", 512}, {"rope", 64}, {"topk", 2048}, {"slots", 9000}});
  }
  c.shapes.push_back({{"m", 3}, {"heads", 20}, {"latent", 512}, {"rope", 64}, {"topk", 130}, {"slots", 200}});
  c.shapes.push_back({{"m", 2}, {"heads", 1}, {"latent", 512}, {"rope", 64}, {"topk", 1}, {"slots", 1}});
  c.configs = tensor_configs();
  check_operator(c);
  // Short rows.
  c.shapes = {{{"m", 9}, {"heads", 8}, {"latent", 64}, {"rope", 32}, {"topk", 100}, {"slots", 333}},
              {{"m", 3}, {"heads", 3}, {"latent", 128}, {"rope", 0}, {"topk", 17}, {"slots", 9}}};
  check_operator(c);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, MlaAttention, testing::Values("f32", "bf16"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST(MlaAttentionSpace, HasHundredsOfPointsForServedShapes) {
  const Operator& op = get_operator("mla_attention");
  for (const DeviceLimits& limits : {device_limits(), gpu_limits()}) {
    for (const std::int64_t heads : {8, 64}) {
      const Problem problem{
          "mla_attention",
          "bf16",
          {{"m", 16}, {"heads", heads}, {"latent", 512}, {"rope", 64}, {"topk", 2048}, {"slots", 100000}}};
      EXPECT_GE(op.space(problem, limits).enumerate().size(), 300u) << limits.arch << " heads=" << heads;
    }
  }
}

}  // namespace
}  // namespace wavetune::templates::test
