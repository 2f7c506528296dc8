// The parsed form of an expression: a tree in a vector, operands before the nodes that use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/expression/value.h"

namespace wavetune::templates {

enum class Op {
  literal,   ///< value
  name,      ///< index: into Syntax::names
  bound,     ///< index: into the comprehension variables around it, the outermost 0
  negative,  ///< one operand, as are the next three
  positive,
  invert,
  logical_not,
  add,  ///< two operands, as all down to not_member
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  power,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  member,
  not_member,
  logical_and,  ///< two or more operands; so are chains: a < b < c is the `and` of a < b and b < c
  logical_or,
  conditional,    ///< condition, value if true, value if false
  list,           ///< any number of operands
  comprehension,  ///< element, iterable, conditions; `index` is its variable
  subscript,      ///< sequence, index
  call,           ///< arguments; `index` is the Function
};

/// Python's spelling of an operator with operands; "" for the rest.
std::string_view spelling(Op op);

enum class Function {
  abs,
  all,
  any,
  boolean,
  ceil,
  exp,
  floating,
  floor,
  integer,
  length,
  list,
  log,
  log2,
  maximum,
  minimum,
  power,
  product,
  range,
  round,
  set,
  sorted,
  sqrt,
  string,
  sum,
};

struct Node {
  Op op = Op::literal;
  std::uint32_t column = 0;  ///< of the operator or the first character, from 0
  std::uint32_t index = 0;
  std::uint32_t depth = 1;  ///< of the tree below it
  Value value;
  std::vector<std::uint32_t> operands;
};

struct Syntax {
  std::string text;
  std::string where;
  std::vector<std::string> names;
  std::vector<Node> nodes;
  std::uint32_t root = 0;
};

/// Throws Error bad_data.
Syntax parse_syntax(std::string_view text, std::string_view where);

}  // namespace wavetune::templates
