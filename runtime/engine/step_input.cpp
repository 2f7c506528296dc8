#include "runtime/engine/step_input.h"

#include <algorithm>

#include "runtime/engine/random.h"

namespace wavetune::engine {

std::int64_t append_tokens(StepInput& step, const Sequence& sequence, std::int64_t begin, std::int64_t count,
                           std::int64_t page_size) {
  const std::int64_t first_row = step.tokens();
  for (std::int64_t position = begin; position < begin + count; ++position) {
    const std::int32_t page = sequence.pages[static_cast<std::size_t>(position / page_size)];
    step.token_ids.push_back(sequence.tokens[static_cast<std::size_t>(position)]);
    step.positions.push_back(static_cast<std::int32_t>(position));
    step.slots.push_back(static_cast<std::int32_t>(page * page_size + position % page_size));
    step.sequence.push_back(sequence.row);
  }
  step.block_rows.push_back({sequence.row, sequence.pages});
  step.context = std::max(step.context, begin + count);
  return first_row;
}

void append_sample(StepInput& step, std::int64_t token_row, const SamplingParams& params, std::int64_t position) {
  step.sample_rows.push_back(static_cast<std::int32_t>(token_row));
  step.temperature.push_back(params.temperature);
  step.top_p.push_back(params.top_p);
  step.uniform.push_back(uniform_at(params.seed, static_cast<std::uint64_t>(position)));
}

StepInput build_step(std::span<const BatchEntry> batch, std::int64_t page_size) {
  StepInput step;
  for (const BatchEntry& entry : batch) {
    const std::int64_t first_row = append_tokens(step, *entry.sequence, entry.begin, entry.count, page_size);
    if (!entry.samples) continue;
    append_sample(step, first_row + entry.count - 1, entry.sequence->params, entry.sequence->length());
  }
  return step;
}

}  // namespace wavetune::engine
