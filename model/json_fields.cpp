#include "model/json_fields.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"

namespace wavetune::model {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& source) {
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    fail(ErrorKind::bad_data, "{} is not valid JSON: {}", source, error.what());
  }
}

JsonFields::JsonFields(const json& object, std::string source) : object_(&object), source_(std::move(source)) {
  if (!object.is_object())
    fail(ErrorKind::bad_data, "{}: expected a JSON object, found {}", source_, object.type_name());
}

const json* JsonFields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) wrong_type(name, "an integer");
  return value->get<std::int64_t>();
}

std::optional<double> JsonFields::number(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) wrong_type(name, "a number");
  return value->get<double>();
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong_type(name, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::string(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong_type(name, "a string");
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> JsonFields::strings(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) wrong_type(name, "a list of strings");
  std::vector<std::string> result;
  for (const json& item : *value) {
    if (!item.is_string()) wrong_type(name, "a list of strings");
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::optional<JsonFields> JsonFields::object(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) wrong_type(name, "an object");
  return JsonFields(*value, source_ + ": " + std::string(name));
}

std::int64_t JsonFields::required_integer(std::string_view name) const {
  if (const auto value = integer(name)) return *value;
  missing(name);
}

double JsonFields::required_number(std::string_view name) const {
  if (const auto value = number(name)) return *value;
  missing(name);
}

std::int64_t JsonFields::required_size(std::string_view name) const {
  const std::int64_t value = required_integer(name);
  if (value < 1) fail(ErrorKind::bad_data, "{}: field {} is {}, it must be at least 1", source_, name, value);
  return value;
}

void JsonFields::wrong_type(std::string_view name, std::string_view expected) const {
  const json& value = (*object_)[std::string(name)];
  fail(ErrorKind::bad_data, "{}: field {} must be {}, found {}", source_, name, expected, value.dump().substr(0, 60));
}

void JsonFields::missing(std::string_view name) const {
  fail(ErrorKind::bad_data, "{}: field {} is missing", source_, name);
}

}  // namespace wavetune::model
