// What a diagram's builder computes at one level, where one parameter gets its value: the truth of the constraints that
// are then known, and the slots, the numbers that what remains of the others depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "search/space/lane_code.h"
#include "templates/expression/terms.h"

namespace wavetune::search {

using templates::TermId;

struct Slot {
  enum class Kind {
    value,     ///< of the term
    part,      ///< of a sum or the like: of its operands that are known
    decision,  ///< what is known of a truth; when that is decided, all slots that only it needs are zero
  };
  Kind kind = Kind::value;
  TermId term = 0;
  auto operator<=>(const Slot&) const = default;
};

/// A constraint, or an operand of one that is an `and`.
struct Root {
  TermId term = 0;
  std::size_t constraint = 0;  ///< its number in the space
};

struct LevelProgram {
  struct Due {
    std::vector<LaneInstruction> code;
    std::uint32_t truth = 0;  ///< register
    std::size_t constraint = 0;
  };
  struct Constant {
    std::uint32_t to = 0;
    std::int64_t value = 0;
  };
  struct Input {
    std::uint32_t to = 0;
    std::size_t slot = 0;  ///< of the level above
  };

  std::uint32_t registers = 1;        ///< register 0 is the parameter's value
  std::vector<Constant> constants;    ///< once a level
  std::vector<LaneInstruction> once;  ///< what depends on this parameter alone
  std::vector<Input> inputs;
  std::vector<Due> due;  ///< in the constraints' order; each may use registers of those before
  std::vector<LaneInstruction> rest;
  std::vector<std::uint32_t> decisions;  ///< of constraints that are not due: nothing below a decided_false is valid
  std::vector<std::uint32_t> outputs;    ///< a register for each slot of this level
};

/// The slots once the parameters `level` and above have values.
std::vector<Slot> slots_at(const templates::Terms& terms, const std::vector<Root>& roots, std::int32_t level);

/// The program for parameter `level`, when those above have values.
LevelProgram compile_level(const templates::Terms& terms, const std::vector<Root>& roots, std::int32_t level,
                           bool is_first);

}  // namespace wavetune::search
