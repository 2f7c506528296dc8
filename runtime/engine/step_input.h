// What the executor needs to know for one step: the ragged batch, flattened.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/scheduler.h"

namespace wavetune::engine {

/// The pages of one running sequence, to be written to its row of the block table.
struct BlockRow {
  std::int32_t row = 0;
  std::vector<std::int32_t> pages;
};

/// Row t of the per-token arrays is one token; row s of the per-sample arrays is one token row whose logits are needed.
struct StepInput {
  std::vector<std::int32_t> token_ids;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> slots;     ///< cache slot that the token's state goes to
  std::vector<std::int32_t> sequence;  ///< row of the block table
  std::vector<std::int32_t> sample_rows;
  std::vector<float> temperature;
  std::vector<float> top_p;
  std::vector<float> uniform;
  std::vector<BlockRow> block_rows;  ///< of every sequence in the step
  std::int64_t context = 0;          ///< largest position + 1

  std::int64_t tokens() const { return static_cast<std::int64_t>(token_ids.size()); }
  std::int64_t samples() const { return static_cast<std::int64_t>(sample_rows.size()); }
};

/// Appends tokens [begin, begin + count) of a sequence that has pages and a row. Returns the first token row.
std::int64_t append_tokens(StepInput& step, const Sequence& sequence, std::int64_t begin, std::int64_t count,
                           std::int64_t page_size);
/// Asks for the logits of a token row; its sample is the token at `position`.
void append_sample(StepInput& step, std::int64_t token_row, const SamplingParams& params, std::int64_t position);

StepInput build_step(std::span<const BatchEntry> batch, std::int64_t page_size);

}  // namespace wavetune::engine
