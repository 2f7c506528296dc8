// Dense SwiGLU layers and mixture-of-experts layers.
#include "model/program_builder.h"

namespace wavetune::model {
void ProgramBuilder::dense_mlp(std::int64_t index) {
  const ModelConfig& c = config_;
  const std::string label = "layers." + std::to_string(index) + ".mlp";
  const std::string prefix = "model." + label + ".";
  const std::int64_t hidden = c.hidden_size, inner = dense_inner_;

  const Ref gate_up = add_weight(prefix + "gate_up_proj", 2 * inner, hidden);
  part_rows(prefix + "gate_proj.weight", c.intermediate_size, hidden, rank_ * inner, inner);
  part_rows(prefix + "up_proj.weight", c.intermediate_size, hidden, rank_ * inner, inner, inner);
  gemm(label + ".gate_up_proj", 1, tokens, 2 * inner, hidden, ref(h_), gate_up, ref(gate_up_));
  call("silu_mul", label + ".silu_mul", dtype_name_, {{"m", tokens}, {"n", fixed(inner)}}, {ref(gate_up_), ref(act_)});
  const Ref down = add_weight(prefix + "down_proj", hidden, inner);
  part_cols(prefix + "down_proj.weight", hidden, c.intermediate_size, rank_ * inner, inner);
  gemm(label + ".down_proj", 1, tokens, hidden, inner, ref(act_), down, sublayer_target());
  finish_sublayer(label);
}

/// [experts, 2 x inner, hidden]: per expert the gate rows, then the up rows. Shared experts follow the routed ones: the
/// checkpoint's shared MLP of n_shared x moe_intermediate_size is cut into n_shared experts, whose outputs add up to
/// it.
Ref ProgramBuilder::expert_gate_up_weight(const std::string& prefix) {
  const ModelConfig& c = config_;
  const std::int64_t hidden = c.hidden_size, inner = expert_inner_;
  const Ref weight = add_weight(prefix + "experts.gate_up_proj", experts_ * 2 * inner, hidden);
  for (std::int64_t expert = 0; expert < experts_; ++expert) {
    const bool routed = expert < c.n_routed_experts;
    const std::string name = prefix + (routed ? "experts." + std::to_string(expert) : "shared_experts");
    const std::int64_t rows = c.moe_intermediate_size * (routed ? 1 : c.n_shared_experts);
    const std::int64_t first = routed ? 0 : (expert - c.n_routed_experts) * c.moe_intermediate_size;
    const std::int64_t destination = expert * 2 * inner;
    part_rows(name + ".gate_proj.weight", rows, hidden, first + rank_ * inner, inner, destination);
    part_rows(name + ".up_proj.weight", rows, hidden, first + rank_ * inner, inner, destination + inner);
  }
  return ref(weight.buffer, 0, hidden, 2 * inner * hidden);
}

/// [experts, hidden, inner].
Ref ProgramBuilder::expert_down_weight(const std::string& prefix) {
  const ModelConfig& c = config_;
  const std::int64_t hidden = c.hidden_size, inner = expert_inner_;
  const Ref weight = add_weight(prefix + "experts.down_proj", experts_ * hidden, inner);
  for (std::int64_t expert = 0; expert < experts_; ++expert) {
    const bool routed = expert < c.n_routed_experts;
    const std::string name = prefix + (routed ? "experts." + std::to_string(expert) : "shared_experts");
    const std::int64_t cols = c.moe_intermediate_size * (routed ? 1 : c.n_shared_experts);
    const std::int64_t first = routed ? 0 : (expert - c.n_routed_experts) * c.moe_intermediate_size;
    part_cols(name + ".down_proj.weight", hidden, cols, first + rank_ * inner, inner, expert * hidden);
  }
  return ref(weight.buffer, 0, inner, hidden * inner);
}

/// Which experts each token goes to and with what weight, then the (token, expert) pairs sorted by expert.
void ProgramBuilder::route(const std::string& prefix) {
  const ModelConfig& c = config_;
  const std::string label = prefix.substr(std::string("model.").size());
  const Ref gate = add_weight(prefix + "gate", c.n_routed_experts, c.hidden_size);
  part(prefix + "gate.weight", c.n_routed_experts, c.hidden_size);
  gemm_f32(label + "gate", tokens, c.n_routed_experts, c.hidden_size, ref(h_), gate, ref(router_logits_));

  // The correction bias decides between near-equal experts: it stays float32, as in the checkpoint.
  const Ref bias = add_vector(prefix + "gate.e_score_correction_bias", c.n_routed_experts);
  program_.buffers[static_cast<std::size_t>(bias.buffer)].dtype = templates::DType::f32;
  call("router", label + "router", "f32",
       {{"m", tokens},
        {"experts", fixed(c.n_routed_experts)},
        {"topk", fixed(c.num_experts_per_tok)},
        {"shared", fixed(c.n_shared_experts)}},
       {ref(router_logits_), bias, ref(expert_ids_), ref(expert_weights_)},
       {{"scale", c.routed_scaling_factor}, {"norm", c.norm_topk_prob ? 1.0 : 0.0}});
  call("moe_sort", label + "sort", "i32",
       {{"m", tokens}, {"topk", fixed(experts_per_token_)}, {"experts", fixed(experts_)}},
       {ref(expert_ids_), ref(order_), ref(offsets_)});
}

void ProgramBuilder::sparse_mlp(std::int64_t index) {
  const ModelConfig& c = config_;
  const std::string label = "layers." + std::to_string(index) + ".mlp";
  const std::string prefix = "model." + label + ".";
  route(prefix);

  const auto grouped = [&](std::int64_t n, std::int64_t k, std::int64_t swiglu) {
    return Dims{{"m", tokens},
                {"topk", fixed(experts_per_token_)},
                {"experts", fixed(experts_)},
                {"n", fixed(n)},
                {"k", fixed(k)},
                {"swiglu", fixed(swiglu)}};
  };
  const Ref gate_up = expert_gate_up_weight(prefix);
  call("grouped_gemm", label + ".experts.gate_up_proj", dtype_name_, grouped(expert_inner_, c.hidden_size, 1),
       {ref(h_), gate_up, ref(order_), ref(offsets_), ref(expert_act_)});
  const Ref down = expert_down_weight(prefix);
  call("grouped_gemm", label + ".experts.down_proj", dtype_name_, grouped(c.hidden_size, expert_inner_, 0),
       {ref(expert_act_), down, ref(order_), ref(offsets_), ref(expert_out_)});
  call("moe_combine", label + ".combine", dtype_name_,
       {{"m", tokens}, {"topk", fixed(experts_per_token_)}, {"n", fixed(c.hidden_size)}},
       {ref(expert_out_), ref(expert_weights_), sublayer_target()});
  finish_sublayer(label);
}

}  // namespace wavetune::model
