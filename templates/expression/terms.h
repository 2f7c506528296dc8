// Conditions as typed terms over parameters: the form that a space's builder cuts at any parameter and evaluates for
// many values at once. Sums and products are flat, so that the part of them that is known is one number.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "templates/expression/expression.h"

namespace wavetune::templates {

using TermId = std::uint32_t;

// Values are 64-bit words: integers, truths (0 or 1), or the bits of a double for a `real` term.
enum class TermOp {
  constant,
  parameter,  ///< its value in the space
  lookup,     ///< operand: a parameter; table[its value]
  sum,        ///< of two or more; two if real, as are products
  product,
  minimum,
  maximum,
  negate,
  absolute,
  floor_divide,  ///< faults when the divisor is zero, as do the next two
  remainder,
  divide,  ///< real
  power,   ///< integer, exponent >= 0
  to_real,
  floor,  ///< real to integer
  ceil,
  equal,  ///< of two integers or two reals, as all comparisons
  less,
  less_equal,
  logical_not,
  all,  ///< of two or more truths
  any,
  opaque,  ///< a C++ predicate, number `constant`, over the parameters that are its operands
};

struct Term {
  TermOp op = TermOp::constant;
  bool real = false;
  bool truth = false;
  bool faults = false;  ///< it or an operand may divide by zero
  std::int64_t constant = 0;
  std::uint32_t index = 0;  ///< of the parameter or the table
  std::vector<TermId> operands;
  // What an integer's value lies between, whatever the parameters are.
  double low = 0;
  double high = 0;
  // The least and the greatest parameter below it; for constants `none`.
  static constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int32_t lowest = none;
  std::int32_t highest = -1;

  /// Whether operands may be taken in any order and grouping. Not for truths among which one may fault: Python's `or`
  /// does not look behind the first true one.
  bool is_associative() const;
  bool is_comparison() const { return op == TermOp::equal || op == TermOp::less || op == TermOp::less_equal; }
  bool is_junction() const { return op == TermOp::all || op == TermOp::any; }
};

/// What a name of an expression stands for: a parameter's number and the value for each of its values in the space.
struct TermBinding {
  std::uint32_t parameter = 0;
  std::vector<std::int64_t> space_values;
  std::vector<Value> values;
};

/// Terms with their operands before them, none twice.
class Terms {
 public:
  /// A truth that is true exactly where the condition holds. Nothing when the expression uses what terms lack, mixes
  /// types in a way that is known only with the values, or may overflow.
  std::optional<TermId> condition(const Expression& expression, const std::map<std::string, TermBinding>& names);
  TermId opaque(std::int64_t number, const std::vector<TermBinding>& parameters);
  TermId parameter(const TermBinding& binding);

  TermId constant(std::int64_t value);
  TermId real_constant(double value);
  TermId lookup(const TermBinding& binding, std::vector<std::int64_t> table, bool real);
  /// Flattens, folds constants and gives the term its range. Throws TooLarge when an integer may not fit.
  TermId make(TermOp op, std::vector<TermId> operands);
  struct TooLarge {};

  const Term& operator[](TermId id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }
  const std::vector<std::vector<std::int64_t>>& tables() const { return tables_; }
  /// The number of a string in lookups and constants.
  std::int64_t text(const std::string& value);

 private:
  TermId add(Term term);
  std::vector<TermId> flat(TermOp op, const std::vector<TermId>& operands);

  std::vector<Term> terms_;
  std::vector<std::vector<std::int64_t>> tables_;
  std::map<std::vector<std::int64_t>, TermId> known_;
  std::map<std::string, std::int64_t> texts_;
};

}  // namespace wavetune::templates
