// config.json of a glm_moe_dsa checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "templates/dtype.h"

namespace wavetune::model {

enum class IndexerKind { full, shared };
enum class MlpKind { dense, sparse };

/// Field names as in config.json; facts that are spelled in several ways there (rope_theta or rope_parameters,
/// mlp_layer_types or first_k_dense_replace, indexer_types or index_topk_freq) are resolved into one.
struct ModelConfig {
  std::string name;  ///< folder name: what /v1/models shows
  std::string id;    ///< content hash of the canonical config: key of stored layouts
  templates::DType dtype = templates::DType::bf16;

  std::int64_t num_hidden_layers = 0;
  std::int64_t num_nextn_predict_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t q_lora_rank = 0;
  std::int64_t kv_lora_rank = 0;
  std::int64_t index_n_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;
  std::int64_t n_routed_experts = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  std::int64_t moe_intermediate_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  double routed_scaling_factor = 1.0;
  bool norm_topk_prob = true;
  bool tie_word_embeddings = false;
  std::vector<IndexerKind> indexer_types;  ///< one for each layer
  std::vector<MlpKind> mlp_layer_types;    ///< one for each layer
  std::vector<std::int64_t> eos_token_ids;

  std::int64_t qk_head_dim() const { return qk_nope_head_dim + qk_rope_head_dim; }
  std::int64_t latent_dim() const { return kv_lora_rank + qk_rope_head_dim; }
};

/// The epsilon of q_a_layernorm, kv_a_layernorm and the indexer's k_norm. transformers builds these three with their
/// class default instead of config.json's rms_norm_eps (modeling_glm_moe_dsa.py), and config.json has no field for it.
inline constexpr double inner_norm_eps = 1e-6;

/// Reads DIR/config.json (and generation_config.json's eos ids when present). Throws Error: not_found (no folder or
/// file), bad_data (not JSON, a field missing or of the wrong type, named), incompatible (another architecture, or a
/// feature of this one that is not supported, named).
ModelConfig load_config(const std::filesystem::path& model_directory);
/// The same from the text of a config.json; `name` becomes ModelConfig::name and is named in errors.
ModelConfig config_from_json(std::string_view text, std::string_view name);

/// zai-org/GLM-5.2 in BF16, built in: shapes and layouts can be worked out without the 1.5 TB of weights.
ModelConfig glm_5_2_config();

/// What --model names: a folder that holds config.json, or a built-in preset ("glm-5.2"; a folder of that name goes
/// first). Throws Error not_found that lists the presets, and whatever load_config throws.
ModelConfig resolve_model(const std::string& model_argument);

}  // namespace wavetune::model
