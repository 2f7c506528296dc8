#include "templates/t1/t1_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/json_reader.h"

namespace wavetune::templates {
namespace {

using db::JsonReader;
using nlohmann::json;

struct TypeName {
  std::string_view name;
  T1Type type;
  bool is_unsigned = false;
};

constexpr std::array<TypeName, 27> type_names{{
    {"int", T1Type::integer},
    {"integer", T1Type::integer},
    {"int8", T1Type::integer},
    {"int16", T1Type::integer},
    {"int32", T1Type::integer},
    {"int64", T1Type::integer},
    {"short", T1Type::integer},
    {"long", T1Type::integer},
    {"uint", T1Type::integer, true},
    {"unsigned", T1Type::integer, true},
    {"unsigned int", T1Type::integer, true},
    {"uint8", T1Type::integer, true},
    {"uint16", T1Type::integer, true},
    {"uint32", T1Type::integer, true},
    {"uint64", T1Type::integer, true},
    {"size_t", T1Type::integer, true},
    {"float", T1Type::floating},
    {"double", T1Type::floating},
    {"real", T1Type::floating},
    {"float32", T1Type::floating},
    {"float64", T1Type::floating},
    {"bool", T1Type::boolean},
    {"boolean", T1Type::boolean},
    {"string", T1Type::string},
    {"str", T1Type::string},
    {"char*", T1Type::string},
    {"categorical", T1Type::string},
}};

const TypeName& type_of(const JsonReader& field) {
  std::string text = field.text();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* const found =
      std::find_if(type_names.begin(), type_names.end(), [&text](const TypeName& known) { return known.name == text; });
  if (found == type_names.end()) {
    field.fail_here(fmt::format("unknown type '{}' (known: int, uint, float, bool, string)", text));
  }
  return *found;
}

/// A JSON scalar or list as the value that its author saw.
Value value_of(const JsonReader& place) {
  const json& given = place.json();
  if (given.is_null()) return {};
  if (given.is_boolean()) return given.get<bool>();
  if (given.is_number_integer()) return place.integer();
  if (given.is_number()) return place.number();
  if (given.is_string()) return given.get<std::string>();
  if (!given.is_array()) place.fail_here("expected a number, a string, true, false or a list of them");
  Value::List list;
  for (const JsonReader& element : place.elements()) list.push_back(value_of(element));
  return list;
}

/// `value` as the parameter's type has it.
Value of_type(const TypeName& type, const Value& value, const JsonReader& place) {
  switch (type.type) {
    case T1Type::integer:
      if (!value.is_int()) break;
      if (type.is_unsigned && value.as_int() < 0) break;
      return value;
    case T1Type::floating:
      if (!value.is_int() && !(value.is_float() && std::isfinite(value.as_float()))) break;
      return value.as_float();
    case T1Type::boolean:
      if (!value.is_integral() || value.as_int() < 0 || value.as_int() > 1) break;
      return value.truthy();
    case T1Type::string:
      if (!value.is_string()) break;
      return value;
  }
  place.fail_here(fmt::format("{} is no {}; make it one or change Type", value.repr(), type.name));
}

/// A field that is an expression in a string, or JSON itself. A string parameter's single value is not an expression.
Value evaluated(const JsonReader& place, bool is_expression) {
  if (!place.json().is_string() || !is_expression) return value_of(place);
  return Expression::parse(place.text(), place.path()).evaluate({});
}

bool is_identifier(std::string_view name) {
  const auto part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), part);
}

T1Parameter parameter_of(const JsonReader& place) {
  T1Parameter parameter;
  parameter.name = place.at("Name").text();
  if (!is_identifier(parameter.name)) {
    place.at("Name").fail_here(fmt::format("'{}' is no name; use letters, digits and _", parameter.name));
  }
  const TypeName& type = type_of(place.at("Type"));
  parameter.type = type.type;
  const JsonReader values = place.at("Values");
  const Value list = evaluated(values, true);
  if (!list.is_list()) values.fail_here(fmt::format("expected a list such as \"[1, 2, 4]\", not {}", list.repr()));
  if (list.as_list().empty()) values.fail_here("the list is empty; a parameter needs a value");
  for (const Value& value : list.as_list()) parameter.values.push_back(of_type(type, value, values));
  if (type.type != T1Type::string) {
    std::sort(parameter.values.begin(), parameter.values.end(), [](const Value& a, const Value& b) {
      return a.is_int() ? a.as_int() < b.as_int() : a.as_float() < b.as_float();
    });
  }
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (std::find(parameter.values.begin(), parameter.values.begin() + static_cast<std::ptrdiff_t>(i),
                  parameter.values[i]) != parameter.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      values.fail_here(fmt::format("{} is there twice; leave one out", parameter.values[i].repr()));
    }
  }
  if (const auto given_default = place.find("Default")) {
    const Value value = evaluated(*given_default, type.type != T1Type::string);
    parameter.default_value = of_type(type, value, *given_default);
  }
  return parameter;
}

std::vector<T1Parameter> parameters_of(const JsonReader& space) {
  const JsonReader list = space.at("TuningParameters");
  std::vector<T1Parameter> parameters;
  for (const JsonReader& place : list.elements()) {
    T1Parameter parameter = parameter_of(place);
    for (const T1Parameter& other : parameters) {
      if (other.name != parameter.name) continue;
      place.fail_here(fmt::format("the parameter '{}' is there twice; rename or remove one", parameter.name));
    }
    parameters.push_back(std::move(parameter));
  }
  if (parameters.empty()) list.fail_here("there are no tuning parameters; add one");
  return parameters;
}

std::string listed(const std::vector<T1Parameter>& parameters) {
  std::string names;
  for (const T1Parameter& parameter : parameters)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  return names;
}

const T1Parameter* parameter_named(const T1File& file, std::string_view name) {
  const auto found = std::find_if(file.parameters.begin(), file.parameters.end(),
                                  [name](const T1Parameter& parameter) { return parameter.name == name; });
  return found == file.parameters.end() ? nullptr : &*found;
}

/// Runs `read`, whose errors say where in the document something is wrong, and puts the file's name before them.
template <class Read>
auto of_file(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", path.string(), error.what()));
  }
}

struct ConditionFields {
  std::string expression;
  std::vector<std::string> parameters;
};

ConditionFields condition_fields(const JsonReader& place) {
  ConditionFields fields;
  if (place.json().is_string()) {
    fields.expression = place.text();
    return fields;
  }
  fields.expression = place.at("Expression").text();
  if (const auto names = place.find("Parameters")) {
    for (const JsonReader& name : names->elements()) fields.parameters.push_back(name.text());
  }
  return fields;
}

T1Condition condition_of(const ConditionFields& fields, const T1File& file, std::size_t number) {
  const std::string where = fmt::format("condition {} of {}", number, file.path.string());
  Expression expression = Expression::parse(fields.expression, where);
  const auto check = [&](const std::string& name, std::string_view place_name) {
    if (parameter_named(file, name) != nullptr) return;
    fail(ErrorKind::bad_data, "{}: {} '{}', which is no parameter; the parameters are {}", where, place_name, name,
         listed(file.parameters));
  };
  for (const std::string& name : expression.names()) check(name, fmt::format("'{}' uses", expression.text()));
  for (const std::string& name : fields.parameters) check(name, "Parameters has");
  std::vector<std::string> parameters = expression.names();
  return {std::move(expression), std::move(parameters)};
}

json section(const json& document, const char* name) {
  const auto found = document.find(name);
  return found == document.end() ? json() : *found;
}

std::string name_of(const T1File& file) {
  for (const auto& [object, field] :
       {std::pair{&file.general, "BenchmarkName"}, std::pair{&file.kernel, "BenchmarkName"},
        std::pair{&file.kernel, "KernelName"}}) {
    if (!object->is_object()) continue;
    const auto found = object->find(field);
    if (found != object->end() && found->is_string()) return found->get<std::string>();
  }
  return file.path.stem().string();
}

}  // namespace

T1File parse_t1(std::string_view text, const std::filesystem::path& path) {
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    fail(ErrorKind::bad_data, "{}: not JSON at byte {}; a T1 file is a JSON object with \"ConfigurationSpace\"",
         path.string(), error.byte);
  }
  const JsonReader root(document, "");
  T1File file;
  file.path = path;
  const std::vector<ConditionFields> conditions = of_file(path, [&] {
    if (!document.is_object()) root.fail_here("expected an object with \"ConfigurationSpace\"");
    file.kernel = section(document, "KernelSpecification");
    file.general = section(document, "General");
    file.budget = section(document, "Budget");
    file.name = name_of(file);
    const JsonReader space = root.at("ConfigurationSpace");
    file.parameters = parameters_of(space);
    std::vector<ConditionFields> fields;
    if (const auto list = space.find("Conditions")) {
      for (const JsonReader& place : list->elements()) fields.push_back(condition_fields(place));
    }
    return fields;
  });
  for (const ConditionFields& fields : conditions) {
    file.conditions.push_back(condition_of(fields, file, file.conditions.size() + 1));
  }
  return file;
}

T1File read_t1(const std::filesystem::path& path) { return parse_t1(read_file(path), path); }

std::optional<std::int64_t> space_value(const T1Parameter& parameter, const Value& value) {
  const auto found = std::find(parameter.values.begin(), parameter.values.end(), value);
  if (found == parameter.values.end()) return std::nullopt;
  if (parameter.type == T1Type::integer) return found->as_int();
  return found - parameter.values.begin();
}

const Value& t1_value(const T1Parameter& parameter, std::int64_t space_value) {
  if (parameter.type == T1Type::integer) {
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), Value(space_value));
    if (found != parameter.values.end()) return *found;
  } else if (space_value >= 0 && space_value < static_cast<std::int64_t>(parameter.values.size())) {
    return parameter.values[static_cast<std::size_t>(space_value)];
  }
  fail(ErrorKind::internal, "{} is no value of parameter '{}'", space_value, parameter.name);
}

std::optional<Config> default_config_of(const T1File& file) {
  Config config;
  for (const T1Parameter& parameter : file.parameters) {
    if (!parameter.default_value) return std::nullopt;
    const auto value = space_value(parameter, *parameter.default_value);
    if (!value) return std::nullopt;
    config[parameter.name] = *value;
  }
  if (!space_of(file).valid(config)) return std::nullopt;
  return config;
}

}  // namespace wavetune::templates
