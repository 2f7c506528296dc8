#include "templates/expression/functions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

constexpr std::int64_t max_range = 1'000'000;

struct Known {
  std::string_view name;
  Function function;
  std::size_t least;  ///< arguments
  std::size_t most;
};

constexpr std::size_t any_number = 1000;
constexpr std::array<Known, 28> functions{{
    {"abs", Function::abs, 1, 1},
    {"all", Function::all, 1, 1},
    {"any", Function::any, 1, 1},
    {"bool", Function::boolean, 1, 1},
    {"ceil", Function::ceil, 1, 1},
    {"exp", Function::exp, 1, 1},
    {"fabs", Function::abs, 1, 1},
    {"float", Function::floating, 1, 1},
    {"floor", Function::floor, 1, 1},
    {"int", Function::integer, 1, 1},
    {"len", Function::length, 1, 1},
    {"list", Function::list, 1, 1},
    {"log", Function::log, 1, 2},
    {"log2", Function::log2, 1, 1},
    {"max", Function::maximum, 1, any_number},
    {"min", Function::minimum, 1, any_number},
    {"pow", Function::power, 2, 2},
    {"prod", Function::product, 1, 1},
    {"range", Function::range, 1, 3},
    {"round", Function::round, 1, 2},
    {"set", Function::set, 1, 1},
    {"sorted", Function::sorted, 1, 1},
    {"sqrt", Function::sqrt, 1, 1},
    {"str", Function::string, 1, 1},
    {"sum", Function::sum, 1, 1},
    {"trunc", Function::integer, 1, 1},
    {"tuple", Function::list, 1, 1},
    {"unique", Function::set, 1, 1},
}};

template <class... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw EvaluationFault{fmt::format(format, std::forward<Args>(args)...)};
}

std::string_view name_of(Function function) {
  return std::find_if(functions.begin(), functions.end(),
                      [function](const Known& known) { return known.function == function; })
      ->name;
}

const Value& number(Function function, const Value& value) {
  if (!value.is_number()) fault("{}() takes a number, not {} ({})", name_of(function), value.repr(), value.type_name());
  return value;
}

const Value::List& list_of(Function function, const Value& value) {
  if (!value.is_list()) fault("{}() takes a list, not {} ({})", name_of(function), value.repr(), value.type_name());
  return value.as_list();
}

std::int64_t integer(Function function, const Value& value) {
  if (!value.is_integral()) {
    fault("{}() takes integers, not {} ({})", name_of(function), value.repr(), value.type_name());
  }
  return value.as_int();
}

double positive(Function function, const Value& value, bool or_zero) {
  const double x = number(function, value).as_float();
  if (x < 0 || (x == 0 && !or_zero)) fault("{}({}) is not defined", name_of(function), value.repr());
  return x;
}

Value extreme(Function function, std::span<const Value> arguments) {
  const std::span<const Value> values =
      arguments.size() == 1 ? std::span<const Value>(list_of(function, arguments[0])) : arguments;
  if (values.empty()) fault("{}() of an empty list", name_of(function));
  const Op better = function == Function::maximum ? Op::greater : Op::less;
  Value best = values.front();
  for (const Value& value : values.subspan(1)) {
    if (compare(better, value, best)) best = value;
  }
  return best;
}

Value parsed_integer(const Value& value) {
  if (value.is_integral()) return value.as_int();
  if (value.is_float()) return whole(std::trunc(value.as_float()));
  if (value.is_string()) {
    const std::string& text = value.as_string();
    std::int64_t result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error == std::errc() && end == text.data() + text.size()) return result;
  }
  fault("int() cannot read {} ({})", value.repr(), value.type_name());
}

Value parsed_float(const Value& value) {
  if (value.is_number()) return value.as_float();
  if (value.is_string()) {
    const std::string& text = value.as_string();
    double result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error == std::errc() && end == text.data() + text.size()) return result;
  }
  fault("float() cannot read {} ({})", value.repr(), value.type_name());
}

Value rounded(std::span<const Value> arguments) {
  const Value& value = number(Function::round, arguments[0]);
  if (value.is_integral()) return value.as_int();
  if (arguments.size() == 1) return whole(std::nearbyint(value.as_float()));  // half to even, as Python does
  const std::int64_t digits = std::clamp<std::int64_t>(integer(Function::round, arguments[1]), 0, 30);
  std::array<char, 400> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value.as_float());
  return std::strtod(text.data(), nullptr);
}

Value range(std::span<const Value> arguments) {
  std::array<std::int64_t, 3> given{0, 0, 1};
  const std::size_t first = arguments.size() == 1 ? 1 : 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) given[first + i] = integer(Function::range, arguments[i]);
  const auto [start, stop, step] = given;
  if (step == 0) fault("range() with a step of zero");
  const double count = (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
  if (count > static_cast<double>(max_range)) fault("range() with more than {} elements", max_range);
  Value::List list;
  for (std::int64_t value = start; step > 0 ? value < stop : value > stop;) {
    list.emplace_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return list;
}

Value folded(Function function, const Value& argument) {
  Value result = function == Function::sum ? 0 : 1;
  for (const Value& value : list_of(function, argument)) {
    result = arithmetic(function == Function::sum ? Op::add : Op::multiply, result, number(function, value));
  }
  return result;
}

Value sequence(Function function, const Value& argument) {
  Value::List list;
  for (const Value& value : list_of(function, argument)) {
    if (function == Function::set && std::find(list.begin(), list.end(), value) != list.end()) continue;
    list.push_back(value);
  }
  if (function == Function::sorted) {
    std::stable_sort(list.begin(), list.end(), [](const Value& a, const Value& b) { return compare(Op::less, a, b); });
  }
  return list;
}

Value logarithm(std::span<const Value> arguments) {
  const double value = std::log(positive(Function::log, arguments[0], false));
  if (arguments.size() == 1) return value;
  return arithmetic(Op::divide, value, std::log(positive(Function::log, arguments[1], false)));
}

bool quantified(Function function, const Value& argument) {
  const Value::List& list = list_of(function, argument);
  const auto truthy = [](const Value& value) { return value.truthy(); };
  return function == Function::all ? std::all_of(list.begin(), list.end(), truthy)
                                   : std::any_of(list.begin(), list.end(), truthy);
}

Value magnitude(const Value& value) {
  if (number(Function::abs, value).is_float()) return std::abs(value.as_float());
  return value.as_int() < 0 ? unary(Op::negative, value) : Value(value.as_int());
}

Value length(const Value& value) {
  const std::size_t size = value.is_string() ? value.as_string().size() : list_of(Function::length, value).size();
  return static_cast<std::int64_t>(size);
}

}  // namespace

std::optional<Function> function_named(std::string_view name) {
  const auto* const found =
      std::find_if(functions.begin(), functions.end(), [name](const Known& known) { return known.name == name; });
  if (found == functions.end()) return std::nullopt;
  return found->function;
}

std::string known_functions() {
  std::string names;
  for (const Known& known : functions) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

Value call(Function function, std::span<const Value> arguments) {
  const Known& known = *std::find_if(functions.begin(), functions.end(),
                                     [function](const Known& each) { return each.function == function; });
  if (arguments.size() < known.least || arguments.size() > known.most) {
    fault("{}() takes {} argument{}, not {}", known.name,
          known.least == known.most ? std::to_string(known.least) : fmt::format("{} or more", known.least),
          known.most == 1 ? "" : "s", arguments.size());
  }
  const Value& first = arguments[0];
  switch (function) {
    case Function::abs:
      return magnitude(first);
    case Function::all:
    case Function::any:
      return quantified(function, first);
    case Function::boolean:
      return first.truthy();
    case Function::ceil:
      return number(function, first).is_float() ? whole(std::ceil(first.as_float())) : first.as_int();
    case Function::floor:
      return number(function, first).is_float() ? whole(std::floor(first.as_float())) : first.as_int();
    case Function::exp:
      return std::exp(number(function, first).as_float());
    case Function::floating:
      return parsed_float(first);
    case Function::integer:
      return parsed_integer(first);
    case Function::length:
      return length(first);
    case Function::list:
    case Function::set:
    case Function::sorted:
      return sequence(function, first);
    case Function::log:
      return logarithm(arguments);
    case Function::log2:
      return std::log2(positive(function, first, false));
    case Function::maximum:
    case Function::minimum:
      return extreme(function, arguments);
    case Function::power:
      return arithmetic(Op::power, first, arguments[1]);
    case Function::product:
    case Function::sum:
      return folded(function, first);
    case Function::range:
      return range(arguments);
    case Function::round:
      return rounded(arguments);
    case Function::sqrt:
      return std::sqrt(positive(function, first, true));
    case Function::string:
      return first.text();
  }
  fault("unknown function");
}

}  // namespace wavetune::templates
