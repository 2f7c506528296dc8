// The valid configurations of a space as numbers, so that strategies count, draw and move without touching maps of
// names.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "search/space/diagram.h"
#include "templates/space.h"

namespace wavetune::search {

using templates::Config;

/// Rank of a valid configuration, 0 .. size() - 1, in the order of templates::Space::enumerate.
using PointId = std::uint64_t;
/// For each parameter, the index of its value in the parameter's list.
using Point = std::vector<std::uint16_t>;

/// Immutable after construction; safe to share between threads.
class SearchSpace {
 public:
  /// Throws what a constraint throws, and Error bad_data for a parameter with more than 65535 values.
  explicit SearchSpace(templates::Space space);

  std::uint64_t size() const { return diagram_.size(); }
  const std::vector<templates::Parameter>& parameters() const { return space_.parameters(); }

  Point at(PointId id) const;
  Config config(PointId id) const;
  /// Nothing when the point is not valid (or has a value that is not in the list).
  std::optional<PointId> find(std::span<const std::uint16_t> point) const;
  std::optional<PointId> find(const Config& config) const;

  /// Uniform among the valid ones; there must be one. The same on every standard library.
  PointId draw(std::mt19937_64& random) const;

  /// The point's ordinal neighbours: one parameter changed to the next value up or down that gives a valid point.
  std::vector<PointId> steps(PointId id) const;
  /// Its Hamming neighbours: one parameter changed to any other value.
  std::vector<PointId> changes(PointId id) const;

 private:
  templates::Space space_;
  Diagram diagram_;  ///< of the valid points
};

}  // namespace wavetune::search
