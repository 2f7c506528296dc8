// Multi-head latent attention in its absorbed form, over the tokens that the sparse indexer selects.
#include <cmath>

#include "model/program_builder.h"

namespace wavetune::model {
namespace {

double inverse_sqrt(std::int64_t value) { return 1.0 / std::sqrt(static_cast<double>(value)); }

}  // namespace

/// kv_b_proj holds per head nope rows that make keys and v rows that make values from the latent. Instead of expanding
/// every cached latent to keys, the query takes the key rows upon itself: q . (W_UK c) = (q W_UK) . c. As a GEMM B
/// operand [n, k] that is W_UK transposed: [heads, kv_lora, nope].
Ref ProgramBuilder::absorbed_key_weight(const std::string& prefix) {
  const ModelConfig& c = config_;
  const std::int64_t per_head = c.qk_nope_head_dim + c.v_head_dim;
  const Ref weight = add_weight(prefix + "kv_b_proj.key", heads_ * c.kv_lora_rank, c.qk_nope_head_dim);
  for (std::int64_t head = 0; head < heads_; ++head) {
    part_rows(prefix + "kv_b_proj.weight", c.num_attention_heads * per_head, c.kv_lora_rank,
              (rank_ * heads_ + head) * per_head, c.qk_nope_head_dim, head * c.kv_lora_rank, /*transpose=*/true);
  }
  return ref(weight.buffer, 0, c.qk_nope_head_dim, c.kv_lora_rank * c.qk_nope_head_dim);
}

/// The value rows as they are: [heads, v, kv_lora].
Ref ProgramBuilder::absorbed_value_weight(const std::string& prefix) {
  const ModelConfig& c = config_;
  const std::int64_t per_head = c.qk_nope_head_dim + c.v_head_dim;
  const Ref weight = add_weight(prefix + "kv_b_proj.value", heads_ * c.v_head_dim, c.kv_lora_rank);
  for (std::int64_t head = 0; head < heads_; ++head) {
    part_rows(prefix + "kv_b_proj.weight", c.num_attention_heads * per_head, c.kv_lora_rank,
              (rank_ * heads_ + head) * per_head + c.qk_nope_head_dim, c.v_head_dim, head * c.v_head_dim);
  }
  return ref(weight.buffer, 0, c.kv_lora_rank, c.v_head_dim * c.kv_lora_rank);
}

void ProgramBuilder::attention(std::int64_t index) {
  const ModelConfig& c = config_;
  const std::string label = "layers." + std::to_string(index) + ".self_attn";
  const std::string prefix = "model." + label + ".";
  const std::int64_t hidden = c.hidden_size, latent = c.latent_dim(), qk = c.qk_head_dim();
  const std::int64_t qkv_cols = c.q_lora_rank + latent;
  const Ref positions = ref(program_.io.positions);

  // Down-projections of queries and keys/values in one GEMM: rows q_lora | kv_lora | rope.
  const Ref qkv_a = add_weight(prefix + "qkv_a_proj", qkv_cols, hidden);
  part(prefix + "q_a_proj.weight", c.q_lora_rank, hidden);
  part(prefix + "kv_a_proj_with_mqa.weight", latent, hidden, c.q_lora_rank);
  gemm(label + ".qkv_a_proj", 1, tokens, qkv_cols, hidden, ref(h_), qkv_a, ref(qkv_a_));

  const Ref q_norm = add_vector(prefix + "q_a_layernorm.weight", c.q_lora_rank);
  rmsnorm(label + ".q_a_layernorm", c.q_lora_rank, ref(qkv_a_, 0, qkv_cols), q_norm, ref(cq_), inner_norm_eps);
  const Ref kv_norm = add_vector(prefix + "kv_a_layernorm.weight", c.kv_lora_rank);
  rmsnorm(label + ".kv_a_layernorm", c.kv_lora_rank, ref(qkv_a_, c.q_lora_rank, qkv_cols), kv_norm, ref(latent_),
          inner_norm_eps);
  call("rope", label + ".k_rope", dtype_name_, {{"m", tokens}, {"heads", fixed(1)}, {"n", fixed(c.qk_rope_head_dim)}},
       {ref(qkv_a_, c.q_lora_rank + c.kv_lora_rank, qkv_cols), positions, ref(latent_, c.kv_lora_rank, latent)},
       {{"theta", c.rope_theta}});
  const int cache =
      add_buffer("layers." + std::to_string(index) + ".latent_cache", Storage::cache, dtype_, slots, fixed(latent));
  call("cache_write", label + ".cache_write", dtype_name_, {{"m", tokens}, {"n", fixed(latent)}, {"slots", slots}},
       {ref(latent_), ref(program_.io.slots), ref(cache)});

  const Ref q_b = add_weight(prefix + "q_b_proj", heads_ * qk, c.q_lora_rank);
  part_rows(prefix + "q_b_proj.weight", c.num_attention_heads * qk, c.q_lora_rank, rank_ * heads_ * qk, heads_ * qk);
  gemm(label + ".q_b_proj", 1, tokens, heads_ * qk, c.q_lora_rank, ref(cq_), q_b, ref(q_));
  const Ref key_weight = absorbed_key_weight(prefix);
  gemm(label + ".absorb_key", heads_, tokens, c.kv_lora_rank, c.qk_nope_head_dim, ref(q_, 0, heads_ * qk, qk),
       key_weight, ref(q_absorbed_, 0, heads_ * latent, latent));
  call("rope", label + ".q_rope", dtype_name_,
       {{"m", tokens}, {"heads", fixed(heads_)}, {"n", fixed(c.qk_rope_head_dim)}},
       {ref(q_, c.qk_nope_head_dim, heads_ * qk, qk), positions,
        ref(q_absorbed_, c.kv_lora_rank, heads_ * latent, latent)},
       {{"theta", c.rope_theta}});

  if (c.indexer_types[static_cast<std::size_t>(index)] == IndexerKind::full) indexer(index);

  call("mla_attention", label + ".attention", dtype_name_,
       {{"m", tokens},
        {"heads", fixed(heads_)},
        {"latent", fixed(c.kv_lora_rank)},
        {"rope", fixed(c.qk_rope_head_dim)},
        {"topk", fixed(c.index_topk)},
        {"slots", slots}},
       {ref(q_absorbed_), ref(cache), ref(indices_), ref(attended_)}, {{"scale", inverse_sqrt(qk)}});

  const Ref value_weight = absorbed_value_weight(prefix);
  gemm(label + ".absorb_value", heads_, tokens, c.v_head_dim, c.kv_lora_rank,
       ref(attended_, 0, heads_ * c.kv_lora_rank, c.kv_lora_rank), value_weight,
       ref(attention_out_, 0, heads_ * c.v_head_dim, c.v_head_dim));
  const Ref o_proj = add_weight(prefix + "o_proj", hidden, heads_ * c.v_head_dim);
  part_cols(prefix + "o_proj.weight", hidden, c.num_attention_heads * c.v_head_dim, rank_ * heads_ * c.v_head_dim,
            heads_ * c.v_head_dim);
  gemm(label + ".o_proj", 1, tokens, hidden, heads_ * c.v_head_dim, ref(attention_out_), o_proj, sublayer_target());
  finish_sublayer(label);
}

/// Scores every earlier token and keeps the best index_topk; `shared` layers that follow use the same selection. The
/// rotated dimensions come first in an index head (in an attention head they come last).
void ProgramBuilder::indexer(std::int64_t index) {
  const ModelConfig& c = config_;
  const std::string label = "layers." + std::to_string(index) + ".self_attn.indexer";
  const std::string prefix = "model." + label + ".";
  const std::int64_t heads = c.index_n_heads, dim = c.index_head_dim, rope_dim = c.qk_rope_head_dim;
  const ProgramInputs& io = program_.io;
  const templates::Scalars theta{{"theta", c.rope_theta}};

  const Ref wq_b = add_weight(prefix + "wq_b", heads * dim, c.q_lora_rank);
  part(prefix + "wq_b.weight", heads * dim, c.q_lora_rank);
  gemm(label + ".wq_b", 1, tokens, heads * dim, c.q_lora_rank, ref(cq_), wq_b, ref(index_q_));
  const Ref q_rotated = ref(index_q_, 0, heads * dim, dim);
  call("rope", label + ".q_rope", dtype_name_, {{"m", tokens}, {"heads", fixed(heads)}, {"n", fixed(rope_dim)}},
       {q_rotated, ref(io.positions), q_rotated}, theta);

  const Ref wk = add_weight(prefix + "wk", dim, c.hidden_size);
  part(prefix + "wk.weight", dim, c.hidden_size);
  gemm(label + ".wk", 1, tokens, dim, c.hidden_size, ref(h_), wk, ref(index_k_raw_));
  const Ref norm_weight = add_vector(prefix + "k_norm.weight", dim);
  const Ref norm_bias = add_vector(prefix + "k_norm.bias", dim);
  call("layernorm", label + ".k_norm", dtype_name_, {{"m", tokens}, {"n", fixed(dim)}, {"residual", fixed(0)}},
       {ref(index_k_raw_), norm_weight, norm_bias, ref(index_k_)}, {{"eps", inner_norm_eps}});
  call("rope", label + ".k_rope", dtype_name_, {{"m", tokens}, {"heads", fixed(1)}, {"n", fixed(rope_dim)}},
       {ref(index_k_), ref(io.positions), ref(index_k_)}, theta);
  const int cache =
      add_buffer("layers." + std::to_string(index) + ".index_cache", Storage::cache, dtype_, slots, fixed(dim));
  call("cache_write", label + ".cache_write", dtype_name_, {{"m", tokens}, {"n", fixed(dim)}, {"slots", slots}},
       {ref(index_k_), ref(io.slots), ref(cache)});

  const Ref weights_proj = add_weight(prefix + "weights_proj", heads, c.hidden_size);
  part(prefix + "weights_proj.weight", heads, c.hidden_size);
  gemm_f32(label + ".weights_proj", tokens, heads, c.hidden_size, ref(h_), weights_proj, ref(index_weights_));

  const Dims paging = {
      {"sequences", fixed(max_sequences_)}, {"pages", fixed(pages_)}, {"page", fixed(program_.page_size)}};
  Dims score_dims = {{"m", tokens}, {"heads", fixed(heads)}, {"n", fixed(dim)}, {"context", context}, {"slots", slots}};
  score_dims.insert(score_dims.end(), paging.begin(), paging.end());
  // The per-head weights carry heads^-0.5 and the products dim^-0.5; both are positive, so they may follow the ReLU.
  call("indexer_scores", label + ".scores", dtype_name_, std::move(score_dims),
       {ref(index_q_), ref(index_weights_), ref(cache), ref(io.positions), ref(io.sequence), ref(io.block_table),
        ref(index_scores_)},
       {{"scale", inverse_sqrt(heads) * inverse_sqrt(dim)}});
  Dims select_dims = {{"m", tokens}, {"context", context}, {"topk", fixed(c.index_topk)}};
  select_dims.insert(select_dims.end(), paging.begin(), paging.end());
  call("topk_select", label + ".topk", "f32", std::move(select_dims),
       {ref(index_scores_), ref(io.positions), ref(io.sequence), ref(io.block_table), ref(indices_)});
}

}  // namespace wavetune::model
