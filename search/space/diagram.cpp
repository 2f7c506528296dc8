#include "search/space/diagram.h"

#include <algorithm>

namespace wavetune::search {

std::size_t Diagram::nodes() const {
  std::size_t count = 0;
  for (const Level& level : levels_) count += level.counts.size();
  return count;
}

std::span<const Diagram::Edge> Diagram::edges(std::size_t level, std::uint32_t node) const {
  const Level& at = levels_[level];
  return std::span(at.edges).subspan(at.first[node], at.first[node + 1] - at.first[node]);
}

const Diagram::Edge* Diagram::edge(std::size_t level, std::uint32_t node, std::uint16_t value) const {
  const auto all = edges(level, node);
  const auto found = std::lower_bound(all.begin(), all.end(), value,
                                      [](const Edge& each, std::uint16_t wanted) { return each.value < wanted; });
  return found == all.end() || found->value != value ? nullptr : &*found;
}

void Diagram::at(std::uint64_t rank, std::span<std::uint16_t> point) const {
  std::uint32_t node = 0;
  for (std::size_t level = depth(); level-- > 0;) {
    const auto all = edges(level, node);
    const auto after = std::upper_bound(all.begin(), all.end(), rank,
                                        [](std::uint64_t wanted, const Edge& each) { return wanted < each.before; });
    const Edge& taken = *(after - 1);
    point[level] = taken.value;
    rank -= taken.before;
    node = taken.child;
  }
}

std::optional<std::uint64_t> Diagram::below(std::size_t level, std::uint32_t node, std::span<const std::uint16_t> point,
                                            std::uint64_t rank) const {
  while (level-- > 0) {
    const Edge* const taken = edge(level, node, point[level]);
    if (taken == nullptr) return std::nullopt;
    rank += taken->before;
    node = taken->child;
  }
  return rank;
}

std::optional<std::uint64_t> Diagram::find(std::span<const std::uint16_t> point) const {
  if (size() == 0 || point.size() != depth()) return std::nullopt;
  return below(depth(), 0, point, 0);
}

std::vector<std::uint64_t> Diagram::neighbours(std::span<const std::uint16_t> point, bool nearest) const {
  std::vector<std::uint64_t> result;
  if (size() == 0) return result;
  std::vector<std::uint32_t> nodes(depth());
  std::vector<std::uint64_t> ranks(depth());  // of what is above the level
  std::uint32_t node = 0;
  std::uint64_t rank = 0;
  for (std::size_t level = depth(); level-- > 0;) {
    nodes[level] = node;
    ranks[level] = rank;
    const Edge* const taken = edge(level, node, point[level]);
    if (taken == nullptr) return result;
    node = taken->child;
    rank += taken->before;
  }
  for (std::size_t level = 0; level < depth(); ++level) {
    const auto all = edges(level, nodes[level]);
    const auto here = edge(level, nodes[level], point[level]) - all.data();
    const auto count = static_cast<std::ptrdiff_t>(all.size());
    const auto look = [&](std::ptrdiff_t i) {
      const Edge& other = all[static_cast<std::size_t>(i)];
      const auto found = below(level, other.child, point, ranks[level] + other.before);
      if (found) result.push_back(*found);
      return found.has_value();
    };
    if (!nearest) {
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        if (i != here) look(i);
      }
      continue;
    }
    for (std::ptrdiff_t i = here - 1; i >= 0 && !look(i); --i) {
    }
    for (std::ptrdiff_t i = here + 1; i < count && !look(i); ++i) {
    }
  }
  return result;
}

}  // namespace wavetune::search
