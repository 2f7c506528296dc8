// GLM-5.2's forward pass as data: a list of operator calls with their shapes, for one rank of a tensor-parallel group.
// `tune` reads it to know which shapes to tune, `serve` to know what to launch, so a shape cannot be served that the
// tuner did not see.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/problem.h"
#include "model/config.h"
#include "templates/dtype.h"
#include "templates/operator.h"

namespace wavetune::model {

/// Numbers that are known only when a step runs (or is costed).
enum class Symbol {
  one,      ///< the constant 1
  tokens,   ///< tokens of all sequences in this step
  samples,  ///< rows that need logits (one for each sequence that samples in this step)
  context,  ///< longest context in this step, rounded up to a bucket
  slots,    ///< capacity of the paged cache in tokens (pages x page size)
};

/// factor x symbol.
struct Extent {
  std::int64_t factor = 1;
  Symbol symbol = Symbol::one;
};

/// Values for the symbols.
struct StepShape {
  std::int64_t tokens = 1;
  std::int64_t samples = 1;
  std::int64_t context = 1;
  std::int64_t slots = 1;
  std::int64_t value(Symbol symbol) const;
  std::int64_t value(const Extent& extent) const { return extent.factor * value(extent.symbol); }
};

enum class Storage {
  activation,  ///< scratch, valid within one step
  weight,      ///< filled once at load, by `weights` below
  cache,       ///< paged KV state, survives between steps; row = slot
  input,       ///< metadata that the engine writes before a step (token ids, positions, slots, block tables)
  output,      ///< read by the engine after a step
};

/// rows x cols elements.
struct Buffer {
  std::string name;
  Storage storage = Storage::activation;
  templates::DType dtype = templates::DType::f32;
  Extent rows;
  Extent cols;
};

/// A view into a buffer; strides in elements, as templates::View. A stride of -1 stands for the step's `context`.
struct Ref {
  int buffer = -1;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0;
  std::int64_t batch_stride = 0;
};

/// One operator call. `dims` gives every dimension of the problem; those with a symbol are known at run time.
struct OpCall {
  std::string op;     ///< templates::Operator name; "all_reduce" (operands: partial, out) is launched by runtime/comm
  std::string label;  ///< "layers.3.self_attn.o_proj": for logs, profiles and cost tables
  std::string dtype;
  std::vector<std::pair<std::string, Extent>> dims;
  std::vector<Ref> operands;  ///< in the order of Operator::operands
  templates::Scalars scalars;

  db::Problem problem(const StepShape& shape) const;
};

/// How a weight buffer is made from checkpoint tensors for this rank: parts are placed one below the other. Together
/// they cover the buffer exactly once.
struct WeightPart {
  std::string tensor;            ///< checkpoint name
  std::int64_t tensor_rows = 0;  ///< full shape in the checkpoint (1 row for vectors)
  std::int64_t tensor_cols = 0;
  std::int64_t row_begin = 0, row_end = 0;  ///< this rank's slice
  std::int64_t col_begin = 0, col_end = 0;
  std::int64_t destination_row = 0;  ///< where the slice goes in the buffer
  bool transpose = false;            ///< store the slice transposed (absorbed W_UK)
};

struct Weight {
  int buffer = -1;
  std::vector<WeightPart> parts;
};

/// Buffers that the engine writes before a step (Storage::input) and reads after it (Storage::output).
///
/// All tokens of a step, decode and prefill chunks mixed, form one ragged batch of T = `tokens` rows. Position s of a
/// sequence lives in cache slot block_table[sequence][s / page_size] * page_size + s % page_size, in every cache
/// buffer.
struct ProgramInputs {
  int token_ids = -1;    ///< i32 [tokens]
  int positions = -1;    ///< i32 [tokens]
  int slots = -1;        ///< i32 [tokens]: cache slot that each token's state goes to; -1 stores nothing
  int sequence = -1;     ///< i32 [tokens]: row of the block table
  int block_table = -1;  ///< i32 [max_sequences, ceil(max_context / page_size)]: physical page numbers
  int sample_rows = -1;  ///< i32 [samples]: which token rows need logits
  int logits = -1;       ///< f32 [samples, vocab / tp]: this rank's shard (output)
};

struct Program {
  ModelConfig config;
  int tp = 1;
  int rank = 0;
  int page_size = 16;
  std::vector<Buffer> buffers;
  std::vector<Weight> weights;
  std::vector<OpCall> calls;
  ProgramInputs io;

  std::int64_t weight_bytes() const;           ///< of one rank
  std::int64_t cache_bytes_per_token() const;  ///< of one rank
  /// Scratch, inputs and outputs of one rank for steps up to `largest`, each buffer rounded up to `buffer_alignment`.
  std::int64_t activation_bytes(const StepShape& largest) const;
  static constexpr std::int64_t buffer_alignment = 256;
};

struct ProgramOptions {
  int tp = 1;
  int rank =
      0;  ///< whose weight slices `weights` describes, 0 <= rank < tp; calls and shapes are the same on every rank
  int page_size = 16;
  std::int64_t max_sequences = 64;
  std::int64_t max_context = 4096;
};

/// One step:
///
///     embedding -> residual; per layer: attention (program_attention.cpp), dense or sparse MLP (program_mlp.cpp), each
///     ending in x = sum over ranks; rmsnorm adds x to the residual stream; last norm -> gather sample_rows -> lm_head.
///
/// Attention heads, the experts' and dense inner dimension and lm_head's vocabulary are split over the ranks; indexer,
/// router, norms and embedding are replicated. With tp > 1 the partial sums alternate between two buffers, so that a
/// rank may write its next one while others still read the last. With tp == 1 there is no all_reduce call. The sampler
/// is not part of the program. MTP layers of the checkpoint are left out.
///
/// Throws Error usage when `tp` does not divide the heads, experts' and dense intermediate size, or vocabulary: the
/// message names the number that it does not divide and the degrees that work.
Program build_program(const ModelConfig& config, const ProgramOptions& options);

/// Tensor-parallel degrees <= `devices` that divide `devices` and that build_program accepts.
std::vector<int> valid_tp_degrees(const ModelConfig& config, int devices);

/// The distinct problems of a program at the given step shapes, with how often each occurs in a step.
std::map<db::Problem, int> problems_of(const Program& program, const StepShape& shape);

}  // namespace wavetune::model
