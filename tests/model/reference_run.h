// Runs a Program with the operators' reference implementations, all ranks in lockstep: what the program says, executed
// by obviously right code.
#pragma once

#include <cstdint>
#include <vector>

#include "model/program.h"
#include "model/safetensors.h"
#include "templates/host_tensor.h"

namespace wavetune::model {

/// Some tokens of one sequence.
struct Chunk {
  std::int64_t sequence = 0;  ///< row of the block table
  std::int64_t begin = 0;     ///< position of the first token
  std::vector<std::int32_t> tokens;
};

class ReferenceRun {
 public:
  ReferenceRun(const ModelConfig& config, const Checkpoint& checkpoint, const ProgramOptions& options);

  /// One step over all chunks. Gives the logits of every token, row after row of `vocab_size`.
  std::vector<double> step(const std::vector<Chunk>& chunks);

 private:
  struct Rank {
    Program program;
    std::vector<templates::HostTensor> buffers;
  };

  void write_inputs(Rank& rank, const std::vector<Chunk>& chunks, const StepShape& shape) const;
  void run(Rank& rank, const OpCall& call, const StepShape& shape) const;
  void all_reduce(std::size_t call_index, const StepShape& shape);
  std::int64_t slot_of(std::int64_t sequence, std::int64_t position) const;
  std::int64_t page_of(std::int64_t sequence, std::int64_t page) const;

  std::vector<Rank> ranks_;
  std::int64_t sequences_, pages_, page_size_;
};

}  // namespace wavetune::model
