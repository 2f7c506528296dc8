// Python's operators. Where C++ differs: division and remainder round down, true division makes floats, integers do not
// wrap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "db/base/error.h"
#include "templates/expression/functions.h"

namespace wavetune::templates {
namespace {

template <class... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw EvaluationFault{fmt::format(format, std::forward<Args>(args)...)};
}

[[noreturn]] void overflow(Op op, std::int64_t a, std::int64_t b) {
  fault("{} {} {} does not fit in 64 bits", a, spelling(op), b);
}

std::int64_t int_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  std::int64_t square = base;
  for (std::int64_t rest = exponent; rest > 0;) {
    if ((rest & 1) != 0 && __builtin_mul_overflow(result, square, &result)) overflow(Op::power, base, exponent);
    rest >>= 1;
    if (rest > 0 && __builtin_mul_overflow(square, square, &square)) overflow(Op::power, base, exponent);
  }
  return result;
}

std::int64_t shifted(Op op, std::int64_t a, std::int64_t b) {
  if (b < 0) fault("negative shift count {}", b);
  if (op == Op::shift_right) return a >> std::min<std::int64_t>(b, 63);
  std::int64_t result = a;
  if (a != 0 && (b > 62 || __builtin_mul_overflow(a, std::int64_t{1} << b, &result))) overflow(op, a, b);
  return result;
}

Value of_ints(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool fits = true;
  switch (op) {
    case Op::add:
      fits = !__builtin_add_overflow(a, b, &result);
      break;
    case Op::subtract:
      fits = !__builtin_sub_overflow(a, b, &result);
      break;
    case Op::multiply:
      fits = !__builtin_mul_overflow(a, b, &result);
      break;
    case Op::divide:
    case Op::floor_divide:
    case Op::remainder:
      if (b == 0) fault("division by zero in {} {} {}", a, spelling(op), b);
      if (op == Op::divide) return static_cast<double>(a) / static_cast<double>(b);
      if (b == -1) {  // the one divisor whose quotient can overflow
        fits = op == Op::remainder || !__builtin_sub_overflow(std::int64_t{0}, a, &result);
        break;
      }
      result = op == Op::floor_divide ? a / b : a % b;
      if (a % b != 0 && (a < 0) != (b < 0)) result += op == Op::floor_divide ? -1 : b;
      break;
    case Op::power:
      if (b >= 0) return int_power(a, b);
      if (a == 0) fault("division by zero in {} ** {}", a, b);
      return std::pow(static_cast<double>(a), static_cast<double>(b));
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    default:
      return shifted(op, a, b);
  }
  if (!fits) overflow(op, a, b);
  return result;
}

Value of_floats(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::power: {
      if (a == 0 && b < 0) fault("division by zero in {} ** {}", Value(a).repr(), Value(b).repr());
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
        fault("{} ** {} is no real number", Value(a).repr(), Value(b).repr());
      }
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
        fault("{} ** {} does not fit in a float", Value(a).repr(), Value(b).repr());
      }
      return result;
    }
    default:
      break;
  }
  if (b == 0) fault("division by zero in {} {} {}", Value(a).repr(), spelling(op), Value(b).repr());
  if (op == Op::divide) return a / b;
  double remainder = std::fmod(a, b);
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  if (op == Op::remainder) return remainder;
  return std::nearbyint((a - remainder) / b);  // the difference is a multiple of b but for rounding
}

bool is_bit_operator(Op op) {
  return op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor || op == Op::shift_left || op == Op::shift_right;
}

[[noreturn]] void wrong_types(Op op, const Value& left, const Value& right) {
  fault("{} and {} do not go with '{}'", left.type_name(), right.type_name(), spelling(op));
}

bool contains(const Value& sequence, const Value& element) {
  if (sequence.is_list()) {
    const Value::List& list = sequence.as_list();
    return std::find(list.begin(), list.end(), element) != list.end();
  }
  if (sequence.is_string() && element.is_string()) {
    return sequence.as_string().find(element.as_string()) != std::string::npos;
  }
  wrong_types(Op::member, element, sequence);
}

/// -1, 0 or 1; 2 when one is not a number.
int order(Op op, const Value& left, const Value& right) {
  const auto of = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : a == b ? 0 : 2; };
  if (left.is_integral() && right.is_integral()) return of(left.as_int(), right.as_int());
  if (left.is_number() && right.is_number()) return of(left.as_float(), right.as_float());
  if (left.is_string() && right.is_string()) return of(left.as_string(), right.as_string());
  if (!left.is_list() || !right.is_list()) wrong_types(op, left, right);
  const Value::List& a = left.as_list();
  const Value::List& b = right.as_list();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i]) continue;
    return order(op, a[i], b[i]);
  }
  return of(a.size(), b.size());
}

}  // namespace

std::string_view spelling(Op op) {
  switch (op) {
    case Op::negative:
    case Op::subtract:
      return "-";
    case Op::positive:
    case Op::add:
      return "+";
    case Op::invert:
      return "~";
    case Op::logical_not:
      return "not";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    case Op::floor_divide:
      return "//";
    case Op::remainder:
      return "%";
    case Op::power:
      return "**";
    case Op::bit_and:
      return "&";
    case Op::bit_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::shift_left:
      return "<<";
    case Op::shift_right:
      return ">>";
    case Op::equal:
      return "==";
    case Op::not_equal:
      return "!=";
    case Op::less:
      return "<";
    case Op::less_equal:
      return "<=";
    case Op::greater:
      return ">";
    case Op::greater_equal:
      return ">=";
    case Op::member:
      return "in";
    case Op::not_member:
      return "not in";
    case Op::logical_and:
      return "and";
    case Op::logical_or:
      return "or";
    default:
      return "";
  }
}

Value unary(Op op, const Value& operand) {
  if (op == Op::logical_not) return !operand.truthy();
  if (!operand.is_number() || (op == Op::invert && operand.is_float())) {
    fault("{} does not go with '{}'", operand.type_name(), spelling(op));
  }
  if (op == Op::invert) return ~operand.as_int();
  if (op == Op::positive) return operand.is_float() ? operand : Value(operand.as_int());
  if (operand.is_float()) return -operand.as_float();
  return of_ints(Op::subtract, 0, operand.as_int());
}

Value arithmetic(Op op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_integral() && right.is_integral()) {
      const Value result = of_ints(op, left.as_int(), right.as_int());
      const bool truth =
          left.is_bool() && right.is_bool() && is_bit_operator(op) && op != Op::shift_left && op != Op::shift_right;
      return truth ? Value(result.truthy()) : result;
    }
    if (is_bit_operator(op)) wrong_types(op, left, right);
    return of_floats(op, left.as_float(), right.as_float());
  }
  if (op == Op::add && left.is_string() && right.is_string()) return left.as_string() + right.as_string();
  if (op == Op::add && left.is_list() && right.is_list()) {
    Value::List both = left.as_list();
    both.insert(both.end(), right.as_list().begin(), right.as_list().end());
    return both;
  }
  wrong_types(op, left, right);
}

bool compare(Op op, const Value& left, const Value& right) {
  switch (op) {
    case Op::equal:
      return left == right;
    case Op::not_equal:
      return !(left == right);
    case Op::member:
      return contains(right, left);
    case Op::not_member:
      return !contains(right, left);
    default:
      break;
  }
  const int found = order(op, left, right);
  if (found == 2) return false;
  switch (op) {
    case Op::less:
      return found < 0;
    case Op::less_equal:
      return found <= 0;
    case Op::greater:
      return found > 0;
    default:
      return found >= 0;
  }
}

std::int64_t whole(double value) {
  if (std::isnan(value) || std::abs(value) >= 9.2e18) fault("{} does not fit in 64 bits", Value(value).repr());
  return static_cast<std::int64_t>(value);
}

}  // namespace wavetune::templates
