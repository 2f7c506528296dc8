// Straight-line code over lanes: every register holds one 64-bit word a lane, an instruction makes one register from
// others. How a diagram's builder evaluates conditions for many partial points at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace wavetune::search {

/// The word that stands for a fault (a division by zero) where an integer or a truth would be. For reals it is a NaN.
constexpr std::int64_t faulted = std::numeric_limits<std::int64_t>::min();

/// What is known of a truth whose parameters do not all have values yet.
enum Decision : std::int64_t { undecided = 0, decided_true = 1, decided_false = 2, decided_fault = 3 };

enum class LaneOp {
  // Integers. With an operand that faulted, the result has.
  sum,
  product,
  minimum,
  maximum,
  negate,
  absolute,
  floor_divide,
  remainder,
  power,
  to_real,
  floor,
  ceil,
  lookup,
  // Reals.
  real_sum,
  real_product,
  real_negate,
  divide,
  // Truths from integers or reals.
  equal,
  less,
  less_equal,
  real_equal,
  real_less,
  real_less_equal,
  // Truths from truths, the left one first: a fault counts only where Python would come to it.
  logical_not,
  both,
  either,
  opaque,  ///< any number of operands
  // Decisions.
  decide,   ///< from a truth that is known
  settle,   ///< decision, truth: the truth if undecided
  earlier,  ///< decision, decision: the second if the first is undecided
  flip,     ///< not
  all_in_order,
  any_in_order,  ///< decision so far, next
  all_of,
  any_of,
  // From the least and greatest that left and right can be: low, high, low, high.
  bound_equal,
  bound_less,
  bound_less_equal,
  // Masks (0 or all ones).
  open,  ///< decision: undecided
  mask,
  join,  ///< and, or
};

struct LaneInstruction {
  LaneOp op = LaneOp::sum;
  bool checked = false;  ///< whether operands of integer arithmetic may have faulted
  std::uint32_t to = 0;
  std::array<std::uint32_t, 4> from{};
  std::uint32_t index = 0;              ///< of the lookup table or the predicate
  std::vector<std::uint32_t> operands;  ///< of an opaque predicate
};

/// A C++ predicate over the words of its operands; it may throw.
using LanePredicate = std::function<bool(const std::int64_t* words)>;

struct LaneContext {
  const std::vector<std::vector<std::int64_t>>* tables = nullptr;
  const std::vector<LanePredicate>* predicates = nullptr;
};

/// `registers` has `stride` words a register; the first `lanes` of each are computed. `wanted`, one a lane, tells
/// predicates, which are slow, where not to bother: they give false there.
void run_lanes(const LaneInstruction& instruction, std::int64_t* registers, std::size_t stride, std::size_t lanes,
               const LaneContext& context, const std::vector<char>& wanted);

}  // namespace wavetune::search
