#include "model/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "model/json_fields.h"

namespace wavetune::model {
namespace {

using nlohmann::json;

constexpr std::string_view architecture = "GlmMoeDsaForCausalLM";
constexpr std::string_view model_type = "glm_moe_dsa";

void check_architecture(const JsonFields& fields) {
  const auto architectures = fields.strings("architectures");
  const auto type = fields.string("model_type");
  const bool named =
      !architectures || std::find(architectures->begin(), architectures->end(), architecture) != architectures->end();
  const bool typed = !type || *type == model_type;
  if (named && typed && (architectures || type)) return;
  const std::string unnamed = "none named";
  const std::string found = named ? type.value_or(unnamed) : architectures->empty() ? unnamed : architectures->front();
  fail(ErrorKind::incompatible, "{}: architecture {} is not supported; wavetune serves {} (model_type {})",
       fields.source(), found, architecture, model_type);
}

[[noreturn]] void unsupported(const JsonFields& fields, std::string_view name, const std::string& found,
                              std::string_view supported) {
  fail(ErrorKind::incompatible, "{}: {} = {} is not supported by this build; it supports {}", fields.source(), name,
       found, supported);
}

void require_integer(const JsonFields& fields, std::string_view name, std::int64_t wanted) {
  const std::int64_t value = fields.integer(name).value_or(wanted);
  if (value != wanted) unsupported(fields, name, std::to_string(value), std::to_string(wanted));
}

void require_word(const JsonFields& fields, std::string_view name, std::string_view wanted) {
  const std::string value = fields.string(name).value_or(std::string(wanted));
  if (value != wanted) unsupported(fields, name, value, wanted);
}

void require_flag(const JsonFields& fields, std::string_view name, bool wanted) {
  const bool value = fields.boolean(name).value_or(wanted);
  if (value != wanted) unsupported(fields, name, value ? "true" : "false", wanted ? "true" : "false");
}

/// Everything that glm_moe_dsa's config.json can say and this build does not do.
void check_features(const JsonFields& fields) {
  if (const auto quantization = fields.object("quantization_config")) {
    unsupported(fields, "quantization_config", quantization->string("quant_method").value_or("of an unnamed method"),
                "checkpoints in BF16 or F32: use the unquantised repository");
  }
  require_integer(fields, "n_group", 1);
  require_integer(fields, "topk_group", 1);
  require_word(fields, "scoring_func", "sigmoid");
  require_word(fields, "topk_method", "noaux_tc");
  require_word(fields, "hidden_act", "silu");
  require_flag(fields, "attention_bias", false);
  require_flag(fields, "mlp_bias", false);
  require_flag(fields, "rope_interleave", true);
  require_flag(fields, "indexer_rope_interleave", true);
}

templates::DType read_dtype(const JsonFields& fields) {
  std::string word = fields.string("dtype").value_or(fields.string("torch_dtype").value_or("bfloat16"));
  if (word.starts_with("torch.")) word.erase(0, 6);
  if (word == "bfloat16") return templates::DType::bf16;
  if (word == "float32") return templates::DType::f32;
  unsupported(fields, "dtype", word, "bfloat16 and float32");
}

/// rope_parameters{rope_theta, rope_type} (transformers 5), or rope_theta with an optional rope_scaling (before).
double read_rope_theta(const JsonFields& fields) {
  for (const std::string_view name : {"rope_parameters", "rope_scaling"}) {
    const auto rope = fields.object(name);
    if (!rope) continue;
    const std::string type = rope->string("rope_type").value_or(rope->string("type").value_or("default"));
    if (type != "default") unsupported(fields, std::string(name) + ".rope_type", type, "default");
    if (const auto theta = rope->number("rope_theta")) return *theta;
  }
  return fields.required_number("rope_theta");
}

IndexerKind indexer_kind(const JsonFields& fields, std::string_view field, std::string_view word) {
  if (word == "full" || word == "F") return IndexerKind::full;
  if (word == "shared" || word == "S") return IndexerKind::shared;
  fail(ErrorKind::bad_data, "{}: field {} holds {}; known are full (F) and shared (S)", fields.source(), field, word);
}

/// indexer_types; else index_topk_pattern ("FFFSSSF..." or a list); else layer i is full when
/// max(i - index_skip_topk_offset + 1, 0) is a multiple of index_topk_freq (transformers' defaults: offset 2, freq 1).
std::vector<IndexerKind> read_indexer_types(const JsonFields& fields, std::int64_t layers) {
  std::vector<IndexerKind> kinds;
  if (const auto words = fields.strings("indexer_types")) {
    for (const std::string& word : *words) kinds.push_back(indexer_kind(fields, "indexer_types", word));
    return kinds;
  }
  if (const json* pattern = fields.find("index_topk_pattern")) {
    if (pattern->is_string()) {
      for (const char letter : pattern->get<std::string>()) {
        kinds.push_back(indexer_kind(fields, "index_topk_pattern", std::string_view(&letter, 1)));
      }
      return kinds;
    }
    const auto words = fields.strings("index_topk_pattern");
    for (const std::string& word : *words) kinds.push_back(indexer_kind(fields, "index_topk_pattern", word));
    return kinds;
  }
  const std::int64_t frequency = fields.integer("index_topk_freq").value_or(1);
  const std::int64_t offset = fields.integer("index_skip_topk_offset").value_or(2);
  if (frequency < 1)
    fail(ErrorKind::bad_data, "{}: field index_topk_freq is {}, it must be at least 1", fields.source(), frequency);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool full = std::max<std::int64_t>(layer - offset + 1, 0) % frequency == 0;
    kinds.push_back(full ? IndexerKind::full : IndexerKind::shared);
  }
  return kinds;
}

/// mlp_layer_types; else the first first_k_dense_replace layers are dense, and of the others every moe_layer_freq-th is
/// sparse.
std::vector<MlpKind> read_mlp_types(const JsonFields& fields, std::int64_t layers) {
  std::vector<MlpKind> kinds;
  if (const auto words = fields.strings("mlp_layer_types")) {
    for (const std::string& word : *words) {
      if (word != "dense" && word != "sparse") {
        fail(ErrorKind::bad_data, "{}: field mlp_layer_types holds {}; known are dense and sparse", fields.source(),
             word);
      }
      kinds.push_back(word == "dense" ? MlpKind::dense : MlpKind::sparse);
    }
    return kinds;
  }
  const std::int64_t dense = fields.required_integer("first_k_dense_replace");
  const std::int64_t frequency = fields.integer("moe_layer_freq").value_or(1);
  if (frequency < 1)
    fail(ErrorKind::bad_data, "{}: field moe_layer_freq is {}, it must be at least 1", fields.source(), frequency);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    kinds.push_back(layer >= dense && layer % frequency == 0 ? MlpKind::sparse : MlpKind::dense);
  }
  return kinds;
}

std::vector<std::int64_t> read_eos(const JsonFields& fields) {
  const json* value = fields.find("eos_token_id");
  if (value == nullptr) return {};
  if (value->is_number_integer()) return {value->get<std::int64_t>()};
  std::vector<std::int64_t> ids;
  bool good = value->is_array();
  for (const json& id : *value) {
    good = good && id.is_number_integer();
    if (good) ids.push_back(id.get<std::int64_t>());
  }
  if (!good)
    fail(ErrorKind::bad_data, "{}: field eos_token_id must be an integer or a list of integers", fields.source());
  return ids;
}

void read_sizes(const JsonFields& fields, ModelConfig& config) {
  config.num_hidden_layers = fields.required_size("num_hidden_layers");
  config.num_nextn_predict_layers = fields.integer("num_nextn_predict_layers").value_or(0);
  config.hidden_size = fields.required_size("hidden_size");
  config.vocab_size = fields.required_size("vocab_size");
  config.num_attention_heads = fields.required_size("num_attention_heads");
  config.qk_nope_head_dim = fields.required_size("qk_nope_head_dim");
  config.qk_rope_head_dim = fields.required_size("qk_rope_head_dim");
  config.v_head_dim = fields.required_size("v_head_dim");
  config.q_lora_rank = fields.required_size("q_lora_rank");
  config.kv_lora_rank = fields.required_size("kv_lora_rank");
  config.index_n_heads = fields.required_size("index_n_heads");
  config.index_head_dim = fields.required_size("index_head_dim");
  config.index_topk = fields.required_size("index_topk");
  // transformers accepts num_experts as an alias.
  config.n_routed_experts = fields.has("n_routed_experts") || !fields.has("num_experts")
                                ? fields.required_size("n_routed_experts")
                                : fields.required_size("num_experts");
  config.n_shared_experts = fields.integer("n_shared_experts").value_or(0);
  config.num_experts_per_tok = fields.required_size("num_experts_per_tok");
  config.moe_intermediate_size = fields.required_size("moe_intermediate_size");
  config.intermediate_size = fields.required_size("intermediate_size");
  config.max_position_embeddings = fields.required_size("max_position_embeddings");
}

void check_consistency(const std::string& source, ModelConfig& config) {
  const auto bad = [&](const std::string& what) { fail(ErrorKind::bad_data, "{}: {}", source, what); };
  const auto layers = static_cast<std::size_t>(config.num_hidden_layers);
  // A list may also describe the multi-token-prediction layers behind the last one; they are not served.
  const auto with_mtp = layers + static_cast<std::size_t>(std::max<std::int64_t>(config.num_nextn_predict_layers, 0));
  const auto check_count = [&](std::string_view field, std::size_t count) {
    if (count != layers && count != with_mtp) {
      bad(fmt::format("{} has {} entries, but num_hidden_layers is {}", field, count, layers));
    }
  };
  check_count("indexer_types (or index_topk_pattern)", config.indexer_types.size());
  check_count("mlp_layer_types", config.mlp_layer_types.size());
  config.indexer_types.resize(layers);
  config.mlp_layer_types.resize(layers);
  if (config.indexer_types.front() != IndexerKind::full) {
    bad("indexer_types: the first layer is shared, so there is no earlier layer whose selection it could reuse");
  }
  if (config.qk_rope_head_dim % 2 != 0)
    bad(fmt::format("qk_rope_head_dim is {}, it must be even", config.qk_rope_head_dim));
  if (config.qk_rope_head_dim > config.index_head_dim) {
    bad(fmt::format("qk_rope_head_dim {} is larger than index_head_dim {}", config.qk_rope_head_dim,
                    config.index_head_dim));
  }
  if (config.num_experts_per_tok > config.n_routed_experts) {
    bad(fmt::format("num_experts_per_tok {} is larger than n_routed_experts {}", config.num_experts_per_tok,
                    config.n_routed_experts));
  }
  if (config.n_shared_experts < 0) bad("n_shared_experts is negative");
  if (!(config.rms_norm_eps > 0)) bad("rms_norm_eps must be positive");
  if (!(config.rope_theta > 1)) bad("rope_theta must be larger than 1");
  for (const std::int64_t id : config.eos_token_ids) {
    if (id < 0 || id >= config.vocab_size)
      bad(fmt::format("eos_token_id {} is outside the vocabulary of {}", id, config.vocab_size));
  }
}

/// Everything that changes what is computed or stored, in one text form; the name and the stop ids do not.
std::string canonical_text(const ModelConfig& config) {
  json canonical = {{"dtype", templates::to_string(config.dtype)},
                    {"num_hidden_layers", config.num_hidden_layers},
                    {"hidden_size", config.hidden_size},
                    {"vocab_size", config.vocab_size},
                    {"num_attention_heads", config.num_attention_heads},
                    {"qk_nope_head_dim", config.qk_nope_head_dim},
                    {"qk_rope_head_dim", config.qk_rope_head_dim},
                    {"v_head_dim", config.v_head_dim},
                    {"q_lora_rank", config.q_lora_rank},
                    {"kv_lora_rank", config.kv_lora_rank},
                    {"index_n_heads", config.index_n_heads},
                    {"index_head_dim", config.index_head_dim},
                    {"index_topk", config.index_topk},
                    {"n_routed_experts", config.n_routed_experts},
                    {"n_shared_experts", config.n_shared_experts},
                    {"num_experts_per_tok", config.num_experts_per_tok},
                    {"moe_intermediate_size", config.moe_intermediate_size},
                    {"intermediate_size", config.intermediate_size},
                    {"max_position_embeddings", config.max_position_embeddings},
                    {"rms_norm_eps", config.rms_norm_eps},
                    {"rope_theta", config.rope_theta},
                    {"routed_scaling_factor", config.routed_scaling_factor},
                    {"norm_topk_prob", config.norm_topk_prob},
                    {"tie_word_embeddings", config.tie_word_embeddings}};
  std::string kinds;
  for (const IndexerKind kind : config.indexer_types) kinds += kind == IndexerKind::full ? 'F' : 'S';
  canonical["indexer_types"] = kinds;
  kinds.clear();
  for (const MlpKind kind : config.mlp_layer_types) kinds += kind == MlpKind::dense ? 'D' : 'S';
  canonical["mlp_layer_types"] = kinds;
  return canonical.dump();
}

ModelConfig read_config(std::string_view text, std::string_view name, const std::string& source,
                        const std::optional<std::vector<std::int64_t>>& generation_eos) {
  const json document = parse_json(text, source);
  const JsonFields fields(document, source);
  check_architecture(fields);
  check_features(fields);

  ModelConfig config;
  config.name = name;
  config.dtype = read_dtype(fields);
  read_sizes(fields, config);
  config.rms_norm_eps = fields.number("rms_norm_eps").value_or(1e-5);
  config.rope_theta = read_rope_theta(fields);
  config.routed_scaling_factor = fields.number("routed_scaling_factor").value_or(1.0);
  config.norm_topk_prob = fields.boolean("norm_topk_prob").value_or(true);
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings").value_or(false);
  config.indexer_types = read_indexer_types(fields, config.num_hidden_layers);
  config.mlp_layer_types = read_mlp_types(fields, config.num_hidden_layers);
  config.eos_token_ids = generation_eos ? *generation_eos : read_eos(fields);
  check_consistency(source, config);
  config.id = content_hash(canonical_text(config));
  return config;
}

}  // namespace

ModelConfig config_from_json(std::string_view text, std::string_view name) {
  return read_config(text, name, fmt::format("config.json of {}", name), std::nullopt);
}

ModelConfig load_config(const std::filesystem::path& model_directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model_directory, ignored)) {
    fail(ErrorKind::not_found, "model folder {} does not exist; give a folder that holds config.json and *.safetensors",
         model_directory.string());
  }
  const std::filesystem::path path = model_directory / "config.json";
  if (!std::filesystem::exists(path, ignored)) {
    fail(ErrorKind::not_found, "no config.json in {}; give a folder in Hugging Face's checkpoint form",
         model_directory.string());
  }
  // generate() stops at generation_config.json's ids when that file names some, so serving does too.
  std::optional<std::vector<std::int64_t>> eos;
  const std::filesystem::path generation_path = model_directory / "generation_config.json";
  if (std::filesystem::exists(generation_path, ignored)) {
    const json generation = parse_json(read_file(generation_path), generation_path.string());
    auto ids = read_eos(JsonFields(generation, generation_path.string()));
    if (!ids.empty()) eos = std::move(ids);
  }
  std::filesystem::path folder = std::filesystem::absolute(model_directory).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return read_config(read_file(path), folder.filename().string(), path.string(), eos);
}

}  // namespace wavetune::model
