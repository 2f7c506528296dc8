// How a Program is put together: buffers, weights and calls, with the model's shapes for one rank. Private to model/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/program.h"

namespace wavetune::model {

inline constexpr Extent tokens{1, Symbol::tokens};
inline constexpr Extent samples{1, Symbol::samples};
inline constexpr Extent context{1, Symbol::context};
inline constexpr Extent slots{1, Symbol::slots};
constexpr Extent fixed(std::int64_t value) { return {value, Symbol::one}; }

class ProgramBuilder {
 public:
  /// The options must have been checked.
  ProgramBuilder(const ModelConfig& config, const ProgramOptions& options);
  Program build() &&;

 private:
  using Dims = std::vector<std::pair<std::string, Extent>>;

  // program_builder.cpp: the vocabulary.
  int add_buffer(std::string name, Storage storage, templates::DType dtype, Extent rows, Extent cols);
  int activation(std::string name, Extent rows, Extent cols) {
    return add_buffer(std::move(name), Storage::activation, dtype_, rows, cols);
  }
  /// A weight in the activation dtype; with no parts it is filled by `part` calls that follow.
  Ref add_weight(std::string name, std::int64_t rows, std::int64_t cols);
  Ref add_vector(const std::string& tensor, std::int64_t size);
  /// Rows or columns of the newest weight from a checkpoint tensor of the given full shape.
  void part(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols, std::int64_t destination_row = 0);
  void part_rows(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols, std::int64_t begin,
                 std::int64_t count, std::int64_t destination_row = 0, bool transpose = false);
  void part_cols(std::string tensor, std::int64_t tensor_rows, std::int64_t tensor_cols, std::int64_t begin,
                 std::int64_t count, std::int64_t destination_row = 0);
  /// The whole buffer, or (with strides) a part of it.
  Ref ref(int buffer) const;
  Ref ref(int buffer, std::int64_t offset, std::int64_t row_stride, std::int64_t batch_stride = 0) const;

  void call(std::string op, std::string label, std::string dtype, Dims dims, std::vector<Ref> operands,
            templates::Scalars scalars = {});
  /// c [batch, m, n] = a [batch, m, k] b [batch, n, k]^T.
  void gemm(std::string label, std::int64_t batch, Extent m, std::int64_t n, std::int64_t k, Ref a, Ref b, Ref c);
  /// The same with float32 output and batch 1.
  void gemm_f32(std::string label, Extent m, std::int64_t n, std::int64_t k, Ref a, Ref b, Ref c);
  void rmsnorm(std::string label, std::int64_t n, Ref x, Ref weight, Ref y, double eps);
  /// residual += x; y = rmsnorm(residual) * weight.
  void rmsnorm_residual(std::string label, Ref x, Ref weight, Ref y);
  /// In: partial sums of a sublayer; the closing GEMM or combine writes to sublayer_target(), then finish_sublayer()
  /// makes x_.
  Ref sublayer_target() const;
  void finish_sublayer(const std::string& label);

  // program_builder.cpp: the whole step.
  void add_inputs();
  void add_activations();
  void embed();
  void layer(std::int64_t index);
  void head();

  // program_attention.cpp
  void attention(std::int64_t index);
  void indexer(std::int64_t index);
  Ref absorbed_key_weight(const std::string& prefix);
  Ref absorbed_value_weight(const std::string& prefix);

  // program_mlp.cpp
  void dense_mlp(std::int64_t index);
  void sparse_mlp(std::int64_t index);
  void route(const std::string& prefix);
  Ref expert_gate_up_weight(const std::string& prefix);
  Ref expert_down_weight(const std::string& prefix);

  const ModelConfig& config_;
  Program program_;
  templates::DType dtype_;
  std::string dtype_name_;
  std::int64_t tp_, rank_;
  std::int64_t heads_;         ///< attention heads of this rank
  std::int64_t expert_inner_;  ///< moe_intermediate_size of this rank
  std::int64_t dense_inner_;   ///< intermediate_size of this rank
  std::int64_t experts_;       ///< routed and shared
  std::int64_t experts_per_token_;
  std::int64_t max_sequences_, pages_;
  int next_partial_ = 0;  ///< 0 or 1: which all-reduce source is written next

  // Activations, shared by all layers.
  int residual_ = -1;                          ///< [T, hidden]: the residual stream
  int x_ = -1;                                 ///< [T, hidden]: a sublayer's output, summed over ranks
  int partial_[2] = {-1, -1};                  ///< [T, hidden]: all-reduce sources (tp > 1)
  int h_ = -1;                                 ///< [T, hidden]: normed input of a sublayer
  int qkv_a_ = -1;                             ///< [T, q_lora | kv_lora | rope]
  int cq_ = -1;                                ///< [T, q_lora]
  int latent_ = -1;                            ///< [T, kv_lora | rope]: what goes to the cache
  int q_ = -1;                                 ///< [T, heads x (nope | rope)]
  int q_absorbed_ = -1;                        ///< [T, heads x (kv_lora | rope)]
  int index_q_ = -1;                           ///< [T, index heads x index dim]
  int index_k_raw_ = -1;                       ///< [T, index dim]
  int index_k_ = -1;                           ///< [T, index dim]: normed and rotated
  int index_weights_ = -1;                     ///< f32 [T, index heads]
  int index_scores_ = -1;                      ///< f32 [T, context]
  int indices_ = -1;                           ///< i32 [T, topk]: slots selected by the last full layer
  int attended_ = -1;                          ///< [T, heads x kv_lora]
  int attention_out_ = -1;                     ///< [T, heads x v]
  int gate_up_ = -1, act_ = -1;                ///< dense MLP: [T, 2 x inner], [T, inner]
  int router_logits_ = -1;                     ///< f32 [T, routed experts]
  int expert_ids_ = -1, expert_weights_ = -1;  ///< i32, f32 [T, experts per token]
  int order_ = -1, offsets_ = -1;              ///< i32 [T x experts per token], [experts + 1]
  int expert_act_ = -1, expert_out_ = -1;      ///< [T x experts per token, expert inner], [.., hidden]
  int sampled_ = -1;                           ///< [samples, hidden]
};

}  // namespace wavetune::model
