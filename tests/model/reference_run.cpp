#include "tests/model/reference_run.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "templates/registry.h"

namespace wavetune::model {
namespace {

using templates::HostTensor;
using templates::OperandSpec;

/// Calls visit(index in the buffer, index in the dense tensor) for every element; throws when the view leaves the
/// buffer.
template <class Visit>
void for_each_element(const Ref& ref, const OperandSpec& spec, const StepShape& shape, std::int64_t buffer_size,
                      Visit visit) {
  const std::int64_t row_stride = ref.row_stride == -1 ? shape.context : ref.row_stride;
  std::int64_t dense = 0;
  for (std::int64_t batch = 0; batch < spec.batch; ++batch) {
    for (std::int64_t row = 0; row < spec.rows; ++row) {
      const std::int64_t begin = ref.offset + batch * ref.batch_stride + row * row_stride;
      if (begin < 0 || begin + spec.cols > buffer_size)
        throw std::out_of_range("operand " + spec.name + " leaves its buffer");
      for (std::int64_t col = 0; col < spec.cols; ++col) visit(begin + col, dense++);
    }
  }
}

}  // namespace

ReferenceRun::ReferenceRun(const ModelConfig& config, const Checkpoint& checkpoint, const ProgramOptions& options)
    : sequences_(options.max_sequences),
      pages_((options.max_context + options.page_size - 1) / options.page_size),
      page_size_(options.page_size) {
  for (int rank = 0; rank < options.tp; ++rank) {
    ProgramOptions of_rank = options;
    of_rank.rank = rank;
    Rank& added = ranks_.emplace_back();
    added.program = build_program(config, of_rank);
    for (const Buffer& buffer : added.program.buffers) {
      const bool cache = buffer.storage == Storage::cache;
      added.buffers.emplace_back(buffer.dtype, cache ? sequences_ * pages_ * page_size_ * buffer.cols.factor : 0);
    }
    for (const Weight& weight : added.program.weights) {
      added.buffers[static_cast<std::size_t>(weight.buffer)] = load_weight(added.program, weight, checkpoint);
    }
  }
}

/// Pages of different sequences are interleaved, in descending order: nothing may rely on neighbours.
std::int64_t ReferenceRun::page_of(std::int64_t sequence, std::int64_t page) const {
  return (pages_ - 1 - page) * sequences_ + sequence;
}

std::int64_t ReferenceRun::slot_of(std::int64_t sequence, std::int64_t position) const {
  return page_of(sequence, position / page_size_) * page_size_ + position % page_size_;
}

void ReferenceRun::write_inputs(Rank& rank, const std::vector<Chunk>& chunks, const StepShape& shape) const {
  for (std::size_t i = 0; i < rank.buffers.size(); ++i) {
    const Buffer& buffer = rank.program.buffers[i];
    if (buffer.storage == Storage::weight || buffer.storage == Storage::cache) continue;
    rank.buffers[i] = HostTensor(buffer.dtype, shape.value(buffer.rows) * shape.value(buffer.cols));
    // A call that reads what no earlier call of this step wrote shows itself.
    const bool real = buffer.dtype != templates::DType::i32;
    for (std::int64_t j = 0; j < rank.buffers[i].count(); ++j) rank.buffers[i].set(j, real ? std::nan("") : -7777);
  }
  const ProgramInputs& io = rank.program.io;
  const auto at = [&](int buffer) -> HostTensor& { return rank.buffers[static_cast<std::size_t>(buffer)]; };
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i, ++row) {
      const std::int64_t position = chunk.begin + static_cast<std::int64_t>(i);
      at(io.token_ids).set(row, chunk.tokens[i]);
      at(io.positions).set(row, static_cast<double>(position));
      at(io.slots).set(row, static_cast<double>(slot_of(chunk.sequence, position)));
      at(io.sequence).set(row, static_cast<double>(chunk.sequence));
      at(io.sample_rows).set(row, static_cast<double>(row));
    }
  }
  for (std::int64_t sequence = 0; sequence < sequences_; ++sequence) {
    for (std::int64_t page = 0; page < pages_; ++page) {
      at(io.block_table).set(sequence * pages_ + page, static_cast<double>(page_of(sequence, page)));
    }
  }
}

void ReferenceRun::run(Rank& rank, const OpCall& call, const StepShape& shape) const {
  const templates::Operator& op = templates::get_operator(call.op);
  const db::Problem problem = call.problem(shape);
  op.check(problem);
  const std::vector<OperandSpec> specs = op.operands(problem);
  if (specs.size() != call.operands.size()) throw std::logic_error(call.label + ": wrong number of operands");
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const HostTensor& buffer = rank.buffers[static_cast<std::size_t>(call.operands[i].buffer)];
    if (buffer.dtype() != specs[i].dtype) throw std::logic_error(call.label + ": dtype of " + specs[i].name);
    HostTensor& dense = tensors.emplace_back(specs[i].dtype, specs[i].count());
    for_each_element(call.operands[i], specs[i], shape, buffer.count(),
                     [&](std::int64_t from, std::int64_t to) { dense.set(to, buffer.at(from)); });
  }
  op.reference(problem, call.scalars, tensors);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].role == templates::Role::input) continue;
    HostTensor& buffer = rank.buffers[static_cast<std::size_t>(call.operands[i].buffer)];
    for_each_element(call.operands[i], specs[i], shape, buffer.count(),
                     [&](std::int64_t to, std::int64_t from) { buffer.set(to, tensors[i].at(from)); });
  }
}

void ReferenceRun::all_reduce(std::size_t call_index, const StepShape& shape) {
  const OpCall& call = ranks_[0].program.calls[call_index];
  const auto source = static_cast<std::size_t>(call.operands[0].buffer),
             target = static_cast<std::size_t>(call.operands[1].buffer);
  const std::int64_t count = shape.tokens * ranks_[0].program.config.hidden_size;
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (const Rank& rank : ranks_) sum += static_cast<float>(rank.buffers[source].at(i));
    for (Rank& rank : ranks_) rank.buffers[target].set(i, sum);
  }
}

std::vector<double> ReferenceRun::step(const std::vector<Chunk>& chunks) {
  StepShape shape;
  shape.tokens = 0;
  shape.context = 1;
  for (const Chunk& chunk : chunks) {
    const auto size = static_cast<std::int64_t>(chunk.tokens.size());
    shape.tokens += size;
    shape.context = std::max(shape.context, chunk.begin + size);
  }
  shape.samples = shape.tokens;
  shape.slots = sequences_ * pages_ * page_size_;
  for (Rank& rank : ranks_) write_inputs(rank, chunks, shape);
  for (std::size_t i = 0; i < ranks_[0].program.calls.size(); ++i) {
    if (ranks_[0].program.calls[i].op == "all_reduce") {
      all_reduce(i, shape);
      continue;
    }
    for (Rank& rank : ranks_) run(rank, rank.program.calls[i], shape);
  }
  const std::int64_t vocab = ranks_[0].program.config.vocab_size,
                     shard = vocab / static_cast<std::int64_t>(ranks_.size());
  std::vector<double> logits(static_cast<std::size_t>(shape.tokens * vocab));
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const HostTensor& part = ranks_[r].buffers[static_cast<std::size_t>(ranks_[r].program.io.logits)];
    for (std::int64_t i = 0; i < shape.tokens * shard; ++i) {
      logits[static_cast<std::size_t>(i / shard * vocab + static_cast<std::int64_t>(r) * shard + i % shard)] =
          part.at(i);
    }
  }
  return logits;
}

}  // namespace wavetune::model
