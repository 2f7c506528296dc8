// Built-in configurations.
#include <algorithm>
#include <cctype>
#include <system_error>

#include "db/base/error.h"
#include "model/config.h"

namespace wavetune::model {
namespace {

// zai-org/GLM-5.2, revision b4734de4, without the fields that do not change the forward pass.
constexpr std::string_view glm_5_2_json = R"({
  "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16",
  "num_hidden_layers": 78, "num_nextn_predict_layers": 1, "hidden_size": 6144, "vocab_size": 154880,
  "tie_word_embeddings": false, "num_attention_heads": 64, "num_key_value_heads": 64,
  "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "q_lora_rank": 2048, "kv_lora_rank": 512,
  "attention_bias": false, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048, "index_topk_freq": 4,
  "index_skip_topk_offset": 3, "indexer_rope_interleave": true, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "intermediate_size": 12288, "first_k_dense_replace": 3,
  "moe_layer_freq": 1, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 1, "topk_group": 1,
  "norm_topk_prob": true, "routed_scaling_factor": 2.5, "hidden_act": "silu", "rms_norm_eps": 1e-5,
  "max_position_embeddings": 1048576, "rope_interleave": true,
  "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"}, "eos_token_id": [154820, 154827, 154829]
})";

}  // namespace

ModelConfig glm_5_2_config() { return config_from_json(glm_5_2_json, "GLM-5.2"); }

ModelConfig resolve_model(const std::string& model_argument) {
  std::error_code ignored;
  if (std::filesystem::is_directory(model_argument, ignored)) return load_config(model_argument);
  std::string lower = model_argument;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower == "glm-5.2" || lower == "zai-org/glm-5.2") return glm_5_2_config();
  fail(ErrorKind::not_found,
       "model {} is neither a folder nor a preset; give a folder that holds config.json and *.safetensors, or glm-5.2 "
       "for "
       "shapes without weights",
       model_argument);
}

}  // namespace wavetune::model
