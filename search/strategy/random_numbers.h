// Random numbers that mean the same for a seed on every standard library, whose own distributions differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace wavetune::search {

/// Uniform in [0, 1).
inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

/// Uniform in [0, bound), for bounds below 2^53.
inline std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) {
  return static_cast<std::uint64_t>(uniform(random) * static_cast<double>(bound));
}

template <typename T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(random, i)]);
}

}  // namespace wavetune::search
