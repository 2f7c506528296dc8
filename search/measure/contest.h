// Kernels that are too near each other to be told apart one after the other: they are timed in turns, so that a clock
// that falls or a neighbour that wakes hits all of them alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/measure/timing.h"

namespace wavetune::measure {

/// Each round takes one sample of every kernel, in an order drawn anew. Ends when for every kernel the ratio of its
/// samples to those of the fastest, round by round, has settled or is surely above 1, and at the latest after
/// limits.max_samples rounds. A round in which the device was slowed down is taken again, within limits. All results
/// have the same number of samples, in the order of the rounds.
std::vector<TimingResult> time_in_turns(std::span<const TimedKernel> kernels, const TimingLimits& limits,
                                        std::uint64_t seed);

}  // namespace wavetune::measure
