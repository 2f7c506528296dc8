#include "templates/expression/value.h"

#include <fmt/format.h>

#include <cmath>

namespace wavetune::templates {
namespace {

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

bool Value::truthy() const {
  if (is_none()) return false;
  if (is_string()) return !as_string().empty();
  if (is_list()) return !as_list().empty();
  return is_float() ? as_float() != 0 : as_int() != 0;
}

std::string_view Value::type_name() const {
  if (is_none()) return "None";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  return is_string() ? "str" : "list";
}

std::string Value::repr() const {
  if (is_none()) return "None";
  if (is_bool()) return as_int() != 0 ? "True" : "False";
  if (is_int()) return std::to_string(as_int());
  if (is_float()) return float_repr(as_float());
  if (is_string()) return "'" + as_string() + "'";
  std::string text = "[";
  for (const Value& element : as_list()) {
    if (text.size() > 1) text += ", ";
    text += element.repr();
  }
  return text + "]";
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
    return a.as_float() == b.as_float();
  }
  if (a.is_string() && b.is_string()) return a.as_string() == b.as_string();
  if (a.is_list() && b.is_list()) return a.as_list() == b.as_list();
  return a.is_none() && b.is_none();
}

}  // namespace wavetune::templates
