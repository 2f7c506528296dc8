#include "model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "db/base/file.h"
#include "tests/model/errors.h"
#include "tests/model/golden.h"

namespace wavetune::model {
namespace {

using nlohmann::json;

json demo_json() { return json::parse(read_file(demo_folder() / "config.json")); }

ModelConfig parse(const json& value) { return config_from_json(value.dump(), "m"); }

std::string kinds_of(const ModelConfig& config) {
  std::string text;
  for (const IndexerKind kind : config.indexer_types) text += kind == IndexerKind::full ? 'F' : 'S';
  return text;
}

std::string mlps_of(const ModelConfig& config) {
  std::string text;
  for (const MlpKind kind : config.mlp_layer_types) text += kind == MlpKind::dense ? 'D' : 'S';
  return text;
}

TEST(Config, ReadsTheDemoModel) {
  const ModelConfig config = load_config(demo_folder());
  EXPECT_EQ(config.name, "demo");
  EXPECT_EQ(config.id.size(), 32u);
  EXPECT_EQ(config.dtype, templates::DType::bf16);
  EXPECT_EQ(config.hidden_size, 128);
  EXPECT_EQ(config.qk_head_dim(), 32);
  EXPECT_EQ(config.latent_dim(), 80);
  EXPECT_EQ(kinds_of(config), "FFSSFS");
  EXPECT_EQ(mlps_of(config), "DDSSSS");
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.eos_token_ids, (std::vector<std::int64_t>{1000, 1007, 1009}));
  EXPECT_EQ(load_config(demo_folder() / "").name, "demo");
}

TEST(Config, PresetIsGlm52) {
  const ModelConfig config = resolve_model("GLM-5.2");
  EXPECT_EQ(config.num_hidden_layers, 78);
  EXPECT_EQ(config.id, glm_5_2_config().id);
  // shared/facts: layers that compute their own selection.
  std::vector<int> full;
  for (int layer = 0; layer < 78; ++layer) {
    if (config.indexer_types[static_cast<std::size_t>(layer)] == IndexerKind::full) full.push_back(layer);
  }
  EXPECT_EQ(full, (std::vector<int>{0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62, 66, 70, 74}));
  EXPECT_EQ(std::count(config.mlp_layer_types.begin(), config.mlp_layer_types.end(), MlpKind::dense), 3);
  EXPECT_EQ(resolve_model(demo_folder().string()).name, "demo");
}

TEST(Config, ReadsEverySpelling) {
  struct Spelling {
    const char* what;
    json remove;
    json merge;
    std::string indexer, mlp;
    double theta;
  };
  const Spelling spellings[] = {
      {"as it is", {}, {}, "FFSSFS", "DDSSSS", 10000},
      {"rope_theta at the top", {"rope_parameters"}, {{"rope_theta", 5e5}}, "FFSSFS", "DDSSSS", 5e5},
      {"old rope_scaling",
       {"rope_parameters"},
       {{"rope_theta", 5e5}, {"rope_scaling", {{"type", "default"}}}},
       "FFSSFS",
       "DDSSSS",
       5e5},
      {"null rope_scaling", {"rope_parameters"}, {{"rope_theta", 7}, {"rope_scaling", nullptr}}, "FFSSFS", "DDSSSS", 7},
      {"pattern as text", {"indexer_types"}, {{"index_topk_pattern", "FSFSFS"}}, "FSFSFS", "DDSSSS", 10000},
      {"pattern as list",
       {"indexer_types"},
       {{"index_topk_pattern", {"full", "shared", "S", "S", "F", "S"}}},
       "FSSSFS",
       "DDSSSS",
       10000},
      {"frequency and offset",
       {"indexer_types"},
       {{"index_topk_freq", 2}, {"index_skip_topk_offset", 3}},
       "FFFSFS",
       "DDSSSS",
       10000},
      {"frequency with the default offset", {"indexer_types"}, {{"index_topk_freq", 3}}, "FFSSFS", "DDSSSS", 10000},
      {"nothing about the indexer", {"indexer_types"}, {}, "FFFFFF", "DDSSSS", 10000},
      {"first_k_dense_replace", {"mlp_layer_types"}, {{"first_k_dense_replace", 1}}, "FFSSFS", "DSSSSS", 10000},
      {"moe_layer_freq",
       {"mlp_layer_types"},
       {{"first_k_dense_replace", 1}, {"moe_layer_freq", 2}},
       "FFSSFS",
       "DDSDSD",
       10000},
      {"num_experts", {"n_routed_experts"}, {{"num_experts", 16}}, "FFSSFS", "DDSSSS", 10000},
  };
  for (const Spelling& spelling : spellings) {
    json value = demo_json();
    for (const json& field : spelling.remove) value.erase(field.get<std::string>());
    if (!spelling.merge.is_null()) value.update(spelling.merge);
    const ModelConfig config = parse(value);
    EXPECT_EQ(kinds_of(config), spelling.indexer) << spelling.what;
    EXPECT_EQ(mlps_of(config), spelling.mlp) << spelling.what;
    EXPECT_EQ(config.rope_theta, spelling.theta) << spelling.what;
    EXPECT_EQ(config.n_routed_experts, 16) << spelling.what;
  }
}

TEST(Config, ReadsDtypeAndEndTokens) {
  json value = demo_json();
  value.erase("dtype");
  EXPECT_EQ(parse(value).dtype, templates::DType::bf16);
  value["torch_dtype"] = "torch.float32";
  EXPECT_EQ(parse(value).dtype, templates::DType::f32);
  value["eos_token_id"] = 7;
  EXPECT_EQ(parse(value).eos_token_ids, (std::vector<std::int64_t>{7}));
  value["eos_token_id"] = nullptr;
  EXPECT_TRUE(parse(value).eos_token_ids.empty());
}

TEST(Config, IdDependsOnWhatIsComputedOnly) {
  json value = demo_json();
  const std::string id = parse(value).id;
  value["eos_token_id"] = 3;
  value["transformers_version"] = "9";
  EXPECT_EQ(config_from_json(value.dump(), "another name").id, id);
  value["rope_parameters"]["rope_theta"] = 20000.0;
  EXPECT_NE(parse(value).id, id);
}

struct Bad {
  json merge;
  ErrorKind kind;
  const char* message;
};

TEST(Config, RefusesWithTheFieldNamed) {
  const Bad bads[] = {
      {{{"architectures", {"LlamaForCausalLM"}}}, ErrorKind::incompatible, "LlamaForCausalLM"},
      {{{"architectures", nullptr}, {"model_type", "llama"}}, ErrorKind::incompatible, "architecture llama"},
      {{{"architectures", "GlmMoeDsaForCausalLM"}}, ErrorKind::bad_data, "architectures must be a list"},
      {{{"quantization_config", {{"quant_method", "fp8"}}}}, ErrorKind::incompatible, "BF16"},
      {{{"dtype", "float16"}}, ErrorKind::incompatible, "float16"},
      {{{"rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "yarn"}}}}, ErrorKind::incompatible, "yarn"},
      {{{"rope_parameters", nullptr}}, ErrorKind::bad_data, "rope_theta is missing"},
      {{{"rope_parameters", {{"rope_theta", "x"}}}}, ErrorKind::bad_data, "rope_theta must be a number"},
      {{{"n_group", 8}}, ErrorKind::incompatible, "n_group = 8"},
      {{{"topk_group", 4}}, ErrorKind::incompatible, "topk_group = 4"},
      {{{"scoring_func", "softmax"}}, ErrorKind::incompatible, "scoring_func = softmax"},
      {{{"topk_method", "greedy"}}, ErrorKind::incompatible, "topk_method = greedy"},
      {{{"hidden_act", "gelu"}}, ErrorKind::incompatible, "hidden_act = gelu"},
      {{{"attention_bias", true}}, ErrorKind::incompatible, "attention_bias = true"},
      {{{"rope_interleave", false}}, ErrorKind::incompatible, "rope_interleave = false"},
      {{{"indexer_rope_interleave", false}}, ErrorKind::incompatible, "indexer_rope_interleave = false"},
      {{{"hidden_size", nullptr}}, ErrorKind::bad_data, "hidden_size is missing"},
      {{{"hidden_size", "128"}}, ErrorKind::bad_data, "hidden_size must be an integer, found \"128\""},
      {{{"hidden_size", 0}}, ErrorKind::bad_data, "hidden_size is 0"},
      {{{"rms_norm_eps", 0}}, ErrorKind::bad_data, "rms_norm_eps"},
      {{{"rope_parameters", {{"rope_theta", 0.5}}}}, ErrorKind::bad_data, "rope_theta"},
      {{{"norm_topk_prob", 1}}, ErrorKind::bad_data, "norm_topk_prob must be true or false"},
      {{{"num_hidden_layers", 5}}, ErrorKind::bad_data, "6 entries"},
      {{{"indexer_types", {"full"}}}, ErrorKind::bad_data, "indexer_types (or index_topk_pattern) has 1 entries"},
      {{{"indexer_types", {"full", "half"}}}, ErrorKind::bad_data, "half"},
      {{{"indexer_types", nullptr}, {"index_topk_pattern", "SFFFFF"}}, ErrorKind::bad_data, "first layer is shared"},
      {{{"indexer_types", nullptr}, {"index_topk_freq", 0}}, ErrorKind::bad_data, "index_topk_freq"},
      {{{"mlp_layer_types", {"dense", "wet"}}}, ErrorKind::bad_data, "wet"},
      {{{"mlp_layer_types", nullptr}, {"first_k_dense_replace", nullptr}},
       ErrorKind::bad_data,
       "first_k_dense_replace is missing"},
      {{{"mlp_layer_types", nullptr}, {"moe_layer_freq", 0}}, ErrorKind::bad_data, "moe_layer_freq"},
      {{{"qk_rope_head_dim", 15}}, ErrorKind::bad_data, "must be even"},
      {{{"qk_rope_head_dim", 64}}, ErrorKind::bad_data, "larger than index_head_dim"},
      {{{"num_experts_per_tok", 17}}, ErrorKind::bad_data, "larger than n_routed_experts"},
      {{{"n_shared_experts", -1}}, ErrorKind::bad_data, "n_shared_experts"},
      {{{"eos_token_id", "x"}}, ErrorKind::bad_data, "eos_token_id"},
      {{{"eos_token_id", {1, "x"}}}, ErrorKind::bad_data, "eos_token_id"},
      {{{"eos_token_id", 1024}}, ErrorKind::bad_data, "outside the vocabulary"},
  };
  for (const Bad& bad : bads) {
    json value = demo_json();
    value.update(bad.merge);
    expect_error([&] { parse(value); }, bad.kind, bad.message);
  }
  expect_error([] { config_from_json("{\"a\": ", "m"); }, ErrorKind::bad_data, "config.json of m is not valid JSON");
  expect_error([] { config_from_json("[]", "m"); }, ErrorKind::bad_data, "expected a JSON object");
}

TEST(Config, SaysWhatIsNotThere) {
  expect_error([] { load_config("/nonexistent/model"); }, ErrorKind::not_found, "/nonexistent/model does not exist");
  expect_error([] { load_config(golden_folder()); }, ErrorKind::not_found, "no config.json in");
  expect_error([] { resolve_model("glm-6"); }, ErrorKind::not_found, "glm-6 is neither a folder nor a preset");
}

}  // namespace
}  // namespace wavetune::model
