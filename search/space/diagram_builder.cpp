#include "search/space/diagram_builder.h"

#include <algorithm>

#include "db/base/error.h"
#include "search/space/level_run.h"

namespace wavetune::search {
namespace {

using db::Config;
using templates::Space;

/// The edges that a level's partial points have, node after node.
struct RawLevel {
  std::vector<std::size_t> ends;  ///< of each node's edges
  std::vector<std::uint16_t> values;
  std::vector<std::uint32_t> children;
};

/// From where each of the states of a level was first come to: for messages.
struct Origins {
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> values;
};

/// A child that leads to no valid point.
constexpr std::uint32_t nothing = ~std::uint32_t{0};

class Builder {
 public:
  explicit Builder(const Space& space)
      : space_(space), roots_(space), raw_(space.parameters().size()), origins_(raw_.size()), leaves_(leaf_words()) {}

  Diagram run() {
    const std::size_t depth = raw_.size();
    LevelRun last(space_, roots_, 0);
    WordTable states(0);
    states.insert({});
    origins_.back() = {{0}, {0}};
    for (std::size_t level = depth - 1; level > 0; --level) {
      LevelRun run(space_, roots_, level);
      WordTable next(run.width());
      std::size_t patched = 0;
      for (std::size_t node = 0; node < states.size(); node += run.nodes_a_block()) {
        const std::size_t nodes = run.evaluate(states, node);
        if (run.fault()) report_fault(*run.fault(), level);
        collect(run, level, node, nodes, next);
        if (level == 1 && next.size() > most_leaf_states) patched = finish_leaves(last, next, patched);
        if (next.size() > most_states) {
          fail(ErrorKind::bad_data,
               "the space is too entangled: more than {} choices for the parameters from '{}' on differ in what they "
               "leave to the others; list parameters that constrain each other side by side",
               most_states, space_.parameters()[level].name);
        }
      }
      if (level == 1) finish_leaves(last, next, patched);
      states = std::move(next);
      if (level > 1 && states.size() == 0) return Diagram(std::vector<Diagram::Level>(depth));
    }
    if (depth == 1) raw_[0].children = leaf_numbers(last, states);
    return merge();
  }

 private:
  // Enough for states that share to meet, few enough for the cache. What is gone through again is only the last level.
  static constexpr std::size_t most_leaf_states = 16384;
  static constexpr std::size_t most_states = 50'000'000;

  const std::vector<std::int64_t>& values(std::size_t level) const { return space_.parameters()[level].values; }
  std::size_t leaf_words() const { return (values(0).size() + 63) / 64; }

  /// The edges of some states' nodes, whose children are the states that result.
  void collect(const LevelRun& run, std::size_t level, std::size_t first_node, std::size_t nodes, WordTable& next) {
    RawLevel& raw = raw_[level];
    Origins& origins = origins_[level - 1];
    std::vector<std::uint64_t> row(run.width());
    const std::size_t count = values(level).size();
    for (std::size_t node = 0; node < nodes; ++node) {
      for (std::size_t value = 0; value < count; ++value) {
        const std::size_t lane = node * count + value;
        if (!run.is_valid(lane)) continue;
        run.state(lane, row);
        const std::uint32_t child = next.insert(row);
        raw.values.push_back(static_cast<std::uint16_t>(value));
        raw.children.push_back(child);
        if (child == origins.parents.size()) {
          origins.parents.push_back(static_cast<std::uint32_t>(first_node + node));
          origins.values.push_back(static_cast<std::uint16_t>(value));
        }
      }
      raw.ends.push_back(raw.values.size());
    }
  }

  /// The leaf, a set of values of parameter 0, that each state of the level above has.
  std::vector<std::uint32_t> leaf_numbers(LevelRun& run, const WordTable& states) {
    std::vector<std::uint32_t> numbers;
    const std::size_t count = values(0).size();
    std::vector<std::uint64_t> row(leaf_words());
    for (std::size_t node = 0; node < states.size(); node += run.nodes_a_block()) {
      const std::size_t nodes = run.evaluate(states, node);
      if (run.fault()) report_fault(*run.fault(), 0);
      for (std::size_t lane = 0; lane < nodes * count;) {
        std::fill(row.begin(), row.end(), 0);
        bool any = false;
        for (std::size_t value = 0; value < count; ++value, ++lane) {
          if (!run.is_valid(lane)) continue;
          row[value / 64] |= std::uint64_t{1} << (value % 64);
          any = true;
        }
        numbers.push_back(any ? leaves_.insert(row) : nothing);
      }
    }
    return numbers;
  }

  /// Puts leaves where level 1 has states, from its edge `patched` on; the number of its edges.
  std::size_t finish_leaves(LevelRun& run, WordTable& states, std::size_t patched) {
    const std::vector<std::uint32_t> numbers = leaf_numbers(run, states);
    std::vector<std::uint32_t>& children = raw_[1].children;
    for (; patched < children.size(); ++patched) children[patched] = numbers[children[patched]];
    states.clear();
    origins_[0] = {};
    return patched;
  }

  /// Lets the constraint itself say what is wrong with the values that led to the lane.
  [[noreturn]] void report_fault(const LevelRun::Fault& fault, std::size_t level) {
    Config config;
    const std::size_t count = values(level).size();
    std::size_t node = fault.node;
    config[space_.parameters()[level].name] = values(level)[fault.lane % count];
    for (std::size_t above = level + 1; above < raw_.size(); ++above) {
      config[space_.parameters()[above].name] = values(above)[origins_[above - 1].values[node]];
      node = origins_[above - 1].parents[node];
    }
    const templates::Constraint& constraint = space_.constraints()[fault.constraint];
    (void)constraint.holds(config);
    fail(ErrorKind::internal, "constraint '{}' could not be evaluated at {}", constraint.description,
         db::to_text(config));
  }

  /// From the first parameter up: counts, without nodes that lead nowhere, and equal nodes made one.
  Diagram merge() {
    std::vector<Diagram::Level> levels(raw_.size());
    fill_leaves(levels[0]);
    std::vector<std::uint32_t> merged_below;
    for (std::size_t level = 1; level < raw_.size(); ++level) {
      RawLevel& raw = raw_[level];
      WordTable known(WordTable::any_width);
      std::vector<std::uint32_t> merged;
      merged.reserve(raw.ends.size());
      std::vector<std::uint64_t> row;
      std::size_t edge = 0;
      for (const std::size_t end : raw.ends) {
        row.clear();
        for (; edge < end; ++edge) {
          const std::uint32_t child = level == 1 ? raw.children[edge] : merged_below[raw.children[edge]];
          if (child != nothing) row.push_back(std::uint64_t{child} << 16 | raw.values[edge]);
        }
        merged.push_back(row.empty() ? nothing : known.insert(row));
      }
      raw = {};
      fill(levels, level, known);
      merged_below = std::move(merged);
    }
    return Diagram(std::move(levels));
  }

  void fill_leaves(Diagram::Level& level) const {
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      level.first.push_back(level.edges.size());
      std::uint64_t count = 0;
      for (std::size_t value = 0; value < values(0).size(); ++value) {
        if ((leaves_.row(leaf)[value / 64] >> (value % 64) & 1) == 0) continue;
        level.edges.push_back({count++, 0, static_cast<std::uint16_t>(value)});
      }
      level.counts.push_back(count);
    }
    level.first.push_back(level.edges.size());
  }

  static void fill(std::vector<Diagram::Level>& levels, std::size_t number, const WordTable& nodes) {
    Diagram::Level& level = levels[number];
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      level.first.push_back(level.edges.size());
      std::uint64_t count = 0;
      for (const std::uint64_t word : nodes.row(node)) {
        const auto child = static_cast<std::uint32_t>(word >> 16);
        level.edges.push_back({count, child, static_cast<std::uint16_t>(word & 0xFFFF)});
        if (__builtin_add_overflow(count, levels[number - 1].counts[child], &count)) {
          fail(ErrorKind::bad_data, "the space has 2^64 valid points or more; constrain it");
        }
      }
      level.counts.push_back(count);
    }
    level.first.push_back(level.edges.size());
  }

  const Space& space_;
  Roots roots_;
  std::vector<RawLevel> raw_;
  std::vector<Origins> origins_;
  WordTable leaves_;
};

}  // namespace

Diagram build_diagram(const Space& space) { return Builder(space).run(); }

}  // namespace wavetune::search
