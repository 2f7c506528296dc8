// How many kernels a step launches, by layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/program.h"

namespace wavetune::engine {

/// On one rank.
struct LaunchCounts {
  std::int64_t layers = 0;
  std::int64_t least = 0;  ///< of one layer
  std::int64_t most = 0;
  std::int64_t outside = 0;  ///< embedding, last norm, lm_head, sampler
  std::int64_t total = 0;

  /// "24 to 31 launches a layer (78 layers), 6 outside, 2190 in all".
  std::string summary() const;
};

/// `calls` has for each launch its index in Program::calls; -1 for the sampler.
LaunchCounts count_launches(std::span<const int> calls, const model::Program& program);

}  // namespace wavetune::engine
