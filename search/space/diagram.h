// A set of points as an ordered decision diagram with counts: one level a parameter, from the last to the first; points
// that continue alike share what follows. Ranks are places in the order of templates::Space::enumerate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wavetune::search {

class Diagram {
 public:
  struct Edge {
    std::uint64_t before = 0;  ///< points of the node's edges before this one
    std::uint32_t child = 0;   ///< node of the level below; 0 at level 0
    std::uint16_t value = 0;   ///< index of the parameter's value
  };
  /// Edges have ascending values; no node is without.
  struct Level {
    std::vector<std::uint64_t> first;  ///< edge of each node, and the number of edges at the end
    std::vector<Edge> edges;
    std::vector<std::uint64_t> counts;  ///< points below each node
  };

  /// Level i is parameter i; the root is node 0 of the last. A set of no points has empty levels.
  explicit Diagram(std::vector<Level> levels) : levels_(std::move(levels)) {}

  std::uint64_t size() const { return levels_.empty() || levels_.back().counts.empty() ? 0 : levels_.back().counts[0]; }
  std::size_t depth() const { return levels_.size(); }
  std::size_t nodes() const;

  /// rank < size(); `point` has depth() places.
  void at(std::uint64_t rank, std::span<std::uint16_t> point) const;
  std::optional<std::uint64_t> find(std::span<const std::uint16_t> point) const;

  /// Ranks of the points that differ from a member in one parameter; only the nearest up and down, if `nearest`.
  std::vector<std::uint64_t> neighbours(std::span<const std::uint16_t> point, bool nearest) const;

 private:
  std::span<const Edge> edges(std::size_t level, std::uint32_t node) const;
  const Edge* edge(std::size_t level, std::uint32_t node, std::uint16_t value) const;
  /// Adds the ranks below `node` of `level` (one past the level to look at) to `rank`.
  std::optional<std::uint64_t> below(std::size_t level, std::uint32_t node, std::span<const std::uint16_t> point,
                                     std::uint64_t rank) const;

  std::vector<Level> levels_;
};

}  // namespace wavetune::search
