// One request as the scheduler sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/engine/engine.h"

namespace wavetune::engine {

struct Sequence {
  RequestId id = 0;
  std::vector<std::int32_t> tokens;  ///< prompt, then what was generated
  std::int64_t prompt_tokens = 0;
  SamplingParams params;

  std::int64_t prompt_counted = 0;  ///< leading prompt tokens that the statistics have seen

  // The scheduler's:
  std::int64_t computed = 0;        ///< leading tokens whose state is in the cache
  std::vector<std::int32_t> pages;  ///< page i holds positions i*page_size ..
  std::int32_t row = -1;            ///< of the block table while running

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t generated() const { return length() - prompt_tokens; }
  std::int64_t remaining() const { return length() - computed; }  ///< tokens to run before the next one can be sampled
};

}  // namespace wavetune::engine
