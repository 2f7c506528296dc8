// Random numbers of sampling: a pure function of (seed, position), so that a token does not depend on what else was in
// the batch, on preemption, or on which replica ran it.
#pragma once

#include <cstdint>

namespace wavetune::engine {

/// SplitMix64's finaliser: a bijection whose output bits all depend on all input bits.
constexpr std::uint64_t mix64(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

/// In [0, 1), a multiple of 2^-24 (exact in float32). `position` is that of the token being drawn.
constexpr float uniform_at(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t bits = mix64(mix64(seed) ^ (position * 0xD1B54A32D192ED03ULL));
  return static_cast<float>(bits >> 40) * 0x1.0p-24f;
}

}  // namespace wavetune::engine
