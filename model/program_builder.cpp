#include "model/program_builder.h"

#include <algorithm>
#include <cassert>

namespace wavetune::model {
namespace {

using templates::DType;

bool any_layer(const ModelConfig& config, MlpKind kind) {
  return std::find(config.mlp_layer_types.begin(), config.mlp_layer_types.end(), kind) != config.mlp_layer_types.end();
}

}  // namespace

ProgramBuilder::ProgramBuilder(const ModelConfig& config, const ProgramOptions& options)
    : config_(config),
      dtype_(config.dtype),
      dtype_name_(templates::to_string(config.dtype)),
      tp_(options.tp),
      rank_(options.rank),
      heads_(config.num_attention_heads / options.tp),
      expert_inner_(config.moe_intermediate_size / options.tp),
      dense_inner_(config.intermediate_size / options.tp),
      experts_(config.n_routed_experts + config.n_shared_experts),
      experts_per_token_(config.num_experts_per_tok + config.n_shared_experts),
      max_sequences_(options.max_sequences),
      pages_((options.max_context + options.page_size - 1) / options.page_size) {
  program_.config = config;
  program_.tp = options.tp;
  program_.rank = options.rank;
  program_.page_size = options.page_size;
  add_inputs();
  add_activations();
}

Program ProgramBuilder::build() && {
  embed();
  for (std::int64_t index = 0; index < config_.num_hidden_layers; ++index) layer(index);
  head();
  return std::move(program_);
}

int ProgramBuilder::add_buffer(std::string name, Storage storage, DType dtype, Extent rows, Extent cols) {
  program_.buffers.push_back({std::move(name), storage, dtype, rows, cols});
  return static_cast<int>(program_.buffers.size()) - 1;
}

Ref ProgramBuilder::add_weight(std::string name, std::int64_t rows, std::int64_t cols) {
  const int buffer = add_buffer(std::move(name), Storage::weight, dtype_, fixed(rows), fixed(cols));
  program_.weights.push_back({buffer, {}});
  return ref(buffer);
}

Ref ProgramBuilder::add_vector(const std::string& tensor, std::int64_t size) {
  const Ref weight = add_weight(tensor, 1, size);
  part(tensor, 1, size);
  return weight;
}

void ProgramBuilder::part(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols,
                          std::int64_t destination_row) {
  part_rows(std::move(tensor), tensor_rows, tensor_cols, 0, tensor_rows, destination_row);
}

void ProgramBuilder::part_rows(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols,
                               std::int64_t begin, std::int64_t count, std::int64_t destination_row, bool transpose) {
  program_.weights.back().parts.push_back(
      {std::move(tensor), tensor_rows, tensor_cols, begin, begin + count, 0, tensor_cols, destination_row, transpose});
}

void ProgramBuilder::part_cols(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols,
                               std::int64_t begin, std::int64_t count, std::int64_t destination_row) {
  program_.weights.back().parts.push_back(
      {std::move(tensor), tensor_rows, tensor_cols, 0, tensor_rows, begin, begin + count, destination_row, false});
}

Ref ProgramBuilder::ref(int buffer) const {
  const Extent cols = program_.buffers[static_cast<std::size_t>(buffer)].cols;
  // The only buffer with a run-time width is the scores': -1 stands for the step's context.
  assert(cols.symbol == Symbol::one || (cols.symbol == Symbol::context && cols.factor == 1));
  return ref(buffer, 0, cols.symbol == Symbol::one ? cols.factor : -1);
}

Ref ProgramBuilder::ref(int buffer, std::int64_t offset, std::int64_t row_stride, std::int64_t batch_stride) const {
  assert(buffer >= 0);
  return {buffer, offset, row_stride, batch_stride};
}

void ProgramBuilder::call(std::string op, std::string label, std::string dtype, Dims dims, std::vector<Ref> operands,
                          templates::Scalars scalars) {
  program_.calls.push_back(
      {std::move(op), std::move(label), std::move(dtype), std::move(dims), std::move(operands), std::move(scalars)});
}

void ProgramBuilder::gemm(std::string label, std::int64_t batch, Extent m, std::int64_t n, std::int64_t k, Ref a, Ref b,
                          Ref c) {
  call("gemm", std::move(label), dtype_name_, {{"batch", fixed(batch)}, {"m", m}, {"n", fixed(n)}, {"k", fixed(k)}},
       {a, b, c});
}

void ProgramBuilder::gemm_f32(std::string label, Extent m, std::int64_t n, std::int64_t k, Ref a, Ref b, Ref c) {
  const std::string dtype = dtype_ == DType::f32 ? dtype_name_ : dtype_name_ + "_f32";
  call("gemm", std::move(label), dtype, {{"batch", fixed(1)}, {"m", m}, {"n", fixed(n)}, {"k", fixed(k)}}, {a, b, c});
}

void ProgramBuilder::rmsnorm(std::string label, std::int64_t n, Ref x, Ref weight, Ref y, double eps) {
  call("rmsnorm", std::move(label), dtype_name_, {{"m", tokens}, {"n", fixed(n)}, {"residual", fixed(0)}},
       {x, weight, y}, {{"eps", eps}});
}

void ProgramBuilder::rmsnorm_residual(std::string label, Ref x, Ref weight, Ref y) {
  call("rmsnorm", std::move(label), dtype_name_,
       {{"m", tokens}, {"n", fixed(config_.hidden_size)}, {"residual", fixed(1)}}, {x, ref(residual_), weight, y},
       {{"eps", config_.rms_norm_eps}});
}

Ref ProgramBuilder::sublayer_target() const { return ref(tp_ == 1 ? x_ : partial_[next_partial_]); }

void ProgramBuilder::finish_sublayer(const std::string& label) {
  if (tp_ == 1) return;
  call("all_reduce", label + ".all_reduce", dtype_name_,
       {{"m", tokens}, {"n", fixed(config_.hidden_size)}, {"ranks", fixed(tp_)}},
       {ref(partial_[next_partial_]), ref(x_)});
  next_partial_ ^= 1;
}

void ProgramBuilder::add_inputs() {
  const auto input = [&](std::string name, Extent rows, Extent cols) {
    return add_buffer(std::move(name), Storage::input, DType::i32, rows, cols);
  };
  ProgramInputs& io = program_.io;
  io.token_ids = input("token_ids", tokens, fixed(1));
  io.positions = input("positions", tokens, fixed(1));
  io.slots = input("slots", tokens, fixed(1));
  io.sequence = input("sequence", tokens, fixed(1));
  io.block_table = input("block_table", fixed(max_sequences_), fixed(pages_));
  io.sample_rows = input("sample_rows", samples, fixed(1));
  io.logits = add_buffer("logits", Storage::output, DType::f32, samples, fixed(config_.vocab_size / tp_));
}

void ProgramBuilder::add_activations() {
  const ModelConfig& c = config_;
  const auto typed = [&](std::string name, DType dtype, Extent rows, Extent cols) {
    return add_buffer(std::move(name), Storage::activation, dtype, rows, cols);
  };
  residual_ = activation("residual", tokens, fixed(c.hidden_size));
  x_ = activation("x", tokens, fixed(c.hidden_size));
  if (tp_ > 1) {
    partial_[0] = activation("partial.0", tokens, fixed(c.hidden_size));
    partial_[1] = activation("partial.1", tokens, fixed(c.hidden_size));
  }
  h_ = activation("h", tokens, fixed(c.hidden_size));

  qkv_a_ = activation("qkv_a", tokens, fixed(c.q_lora_rank + c.latent_dim()));
  cq_ = activation("cq", tokens, fixed(c.q_lora_rank));
  latent_ = activation("latent", tokens, fixed(c.latent_dim()));
  q_ = activation("q", tokens, fixed(heads_ * c.qk_head_dim()));
  q_absorbed_ = activation("q_absorbed", tokens, fixed(heads_ * c.latent_dim()));
  index_q_ = activation("index_q", tokens, fixed(c.index_n_heads * c.index_head_dim));
  index_k_raw_ = activation("index_k_raw", tokens, fixed(c.index_head_dim));
  index_k_ = activation("index_k", tokens, fixed(c.index_head_dim));
  index_weights_ = typed("index_weights", DType::f32, tokens, fixed(c.index_n_heads));
  index_scores_ = typed("index_scores", DType::f32, tokens, {1, Symbol::context});
  indices_ = typed("indices", DType::i32, tokens, fixed(c.index_topk));
  attended_ = activation("attended", tokens, fixed(heads_ * c.kv_lora_rank));
  attention_out_ = activation("attention_out", tokens, fixed(heads_ * c.v_head_dim));

  if (any_layer(c, MlpKind::dense)) {
    gate_up_ = activation("gate_up", tokens, fixed(2 * dense_inner_));
    act_ = activation("act", tokens, fixed(dense_inner_));
  }
  if (any_layer(c, MlpKind::sparse)) {
    const Extent pairs{experts_per_token_, Symbol::tokens};
    router_logits_ = typed("router_logits", DType::f32, tokens, fixed(c.n_routed_experts));
    expert_ids_ = typed("expert_ids", DType::i32, tokens, fixed(experts_per_token_));
    expert_weights_ = typed("expert_weights", DType::f32, tokens, fixed(experts_per_token_));
    order_ = typed("expert_order", DType::i32, pairs, fixed(1));
    offsets_ = typed("expert_offsets", DType::i32, fixed(experts_ + 1), fixed(1));
    expert_act_ = activation("expert_act", pairs, fixed(expert_inner_));
    expert_out_ = activation("expert_out", pairs, fixed(c.hidden_size));
  }
  sampled_ = activation("sampled", samples, fixed(c.hidden_size));
}

void ProgramBuilder::embed() {
  const Ref table = add_weight("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size);
  part("model.embed_tokens.weight", config_.vocab_size, config_.hidden_size);
  call("embedding", "embed_tokens", dtype_name_,
       {{"m", tokens}, {"n", fixed(config_.hidden_size)}, {"rows", fixed(config_.vocab_size)}},
       {ref(program_.io.token_ids), table, ref(residual_)});
}

void ProgramBuilder::layer(std::int64_t index) {
  const std::string prefix = "layers." + std::to_string(index);
  const Ref input_norm = add_vector("model." + prefix + ".input_layernorm.weight", config_.hidden_size);
  if (index == 0) {
    rmsnorm(prefix + ".input_layernorm", config_.hidden_size, ref(residual_), input_norm, ref(h_),
            config_.rms_norm_eps);
  } else {
    rmsnorm_residual(prefix + ".input_layernorm", ref(x_), input_norm, ref(h_));
  }
  attention(index);
  const Ref post_norm = add_vector("model." + prefix + ".post_attention_layernorm.weight", config_.hidden_size);
  rmsnorm_residual(prefix + ".post_attention_layernorm", ref(x_), post_norm, ref(h_));
  if (config_.mlp_layer_types[static_cast<std::size_t>(index)] == MlpKind::dense) {
    dense_mlp(index);
  } else {
    sparse_mlp(index);
  }
}

void ProgramBuilder::head() {
  const ModelConfig& c = config_;
  const Ref norm = add_vector("model.norm.weight", c.hidden_size);
  rmsnorm_residual("norm", ref(x_), norm, ref(h_));
  call("embedding", "gather_sample_rows", dtype_name_, {{"m", samples}, {"n", fixed(c.hidden_size)}, {"rows", tokens}},
       {ref(program_.io.sample_rows), ref(h_), ref(sampled_)});
  const std::int64_t vocab = c.vocab_size / tp_;
  const Ref lm_head = add_weight("lm_head.weight", vocab, c.hidden_size);
  part_rows(c.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", c.vocab_size, c.hidden_size,
            rank_ * vocab, vocab);
  gemm_f32("lm_head", samples, vocab, c.hidden_size, ref(sampled_), lm_head, ref(program_.io.logits));
}

}  // namespace wavetune::model
