// One level of a diagram under construction: its parameter's values in many states of the level above at once.
#pragma once

#include <optional>
#include <span>

#include "search/space/roots.h"
#include "search/space/word_table.h"

namespace wavetune::search {

class LevelRun {
 public:
  /// Refers to both.
  LevelRun(const templates::Space& space, const Roots& roots, std::size_t level);

  std::size_t width() const { return program_.outputs.size(); }  ///< words of a state that results
  std::size_t nodes_a_block() const { return nodes_a_block_; }

  /// Takes the states from `first_node` on, at most a block; how many it took. Lane node * values + value is the
  /// parameter's value `value` in the block's state `node`. Throws what a predicate throws.
  std::size_t evaluate(const WordTable& states, std::size_t first_node);

  bool is_valid(std::size_t lane) const { return valid_[lane] != 0; }
  /// The state that a valid lane leads to.
  void state(std::size_t lane, std::span<std::uint64_t> row) const {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = static_cast<std::uint64_t>(registers_[program_.outputs[i] * stride_ + lane]);
    }
  }

  struct Fault {
    std::size_t node = 0;  ///< the state
    std::size_t lane = 0;
    std::size_t constraint = 0;
  };
  /// The first constraint that could not be evaluated in evaluate().
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  void run_all(const std::vector<LaneInstruction>& code, std::size_t lanes);

  const Roots& roots_;
  LevelProgram program_;
  std::size_t values_;
  std::size_t nodes_a_block_;
  std::size_t stride_;
  std::vector<std::int64_t> registers_;
  std::vector<char> valid_;
  std::optional<Fault> fault_;
};

}  // namespace wavetune::search
