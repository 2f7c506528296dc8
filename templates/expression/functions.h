// What expressions can call, and the arithmetic of their operators.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "templates/expression/syntax.h"

namespace wavetune::templates {

/// A fault of evaluation, before the expression's text and values are added.
struct EvaluationFault {
  std::string message;
};

std::optional<Function> function_named(std::string_view name);
/// All names, for messages: "abs, all, ...".
std::string known_functions();

// These throw EvaluationFault for a wrong type, a wrong number of arguments, a division by zero or an overflow.
Value call(Function function, std::span<const Value> arguments);
Value unary(Op op, const Value& operand);
Value arithmetic(Op op, const Value& left, const Value& right);
/// equal ... not_member.
bool compare(Op op, const Value& left, const Value& right);

/// A float as Python's int(), floor() and ceil() make it an integer; the caller has rounded.
std::int64_t whole(double value);

}  // namespace wavetune::templates
