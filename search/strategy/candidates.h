// The valid configurations of a space and which of them were handed out.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "templates/space.h"

namespace wavetune::search {

/// Spaces up to `enumeration_limit` points of the Cartesian product are listed once and shuffled; of larger ones points
/// are drawn and checked, which may miss the last few.
class Candidates {
 public:
  static constexpr std::uint64_t enumeration_limit = std::uint64_t{1} << 18;

  Candidates(const templates::Space& space, std::uint64_t seed);

  const templates::Space& space() const { return space_; }
  /// Number of valid configurations when they were enumerated.
  std::optional<std::size_t> size() const;
  /// Marks `config` as handed out. False when it was before, or is not valid.
  bool take(const templates::Config& config);
  /// A random one that was not handed out; marks it. Nothing when there is none (or none was found).
  std::optional<templates::Config> draw();
  /// One of `configs` that was not handed out, at random; marks it.
  std::optional<templates::Config> draw_from(std::vector<templates::Config> configs);
  std::mt19937_64& random() { return random_; }

 private:
  templates::Space space_;
  std::mt19937_64 random_;
  bool enumerated_ = false;
  std::vector<templates::Config> shuffled_;
  std::size_t next_ = 0;
  std::unordered_set<std::string> taken_;
};

/// Uniform in [0, 1), the same on every standard library.
double uniform(std::mt19937_64& random);
/// Uniform in [0, bound), the same on every standard library.
std::uint64_t below(std::mt19937_64& random, std::uint64_t bound);

}  // namespace wavetune::search
