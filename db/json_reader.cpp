#include "db/json_reader.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"

namespace wavetune::db {

JsonReader JsonReader::at(std::string_view name) const {
  if (!value_->is_object()) fail_here("must be an object");
  const auto found = value_->find(name);
  if (found == value_->end()) fail_here(fmt::format("member '{}' is missing", name));
  return {*found, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name)};
}

std::optional<JsonReader> JsonReader::find(std::string_view name) const {
  if (!value_->is_object()) fail_here("must be an object");
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return at(name);
}

std::vector<JsonReader> JsonReader::elements() const {
  if (!value_->is_array()) fail_here("must be a list");
  std::vector<JsonReader> list;
  list.reserve(value_->size());
  for (const auto& element : *value_) list.emplace_back(element, fmt::format("{}[{}]", path_, list.size()));
  return list;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  if (!value_->is_object()) fail_here("must be an object");
  std::vector<std::pair<std::string, JsonReader>> list;
  for (auto member = value_->begin(); member != value_->end(); ++member)
    list.emplace_back(member.key(), at(member.key()));
  return list;
}

std::string JsonReader::text() const {
  if (!value_->is_string()) fail_here("must be a string");
  return value_->get<std::string>();
}

std::int64_t JsonReader::integer() const {
  if (!value_->is_number_integer()) fail_here("must be an integer");
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    fail_here("is too large");
  }
  return value_->get<std::int64_t>();
}

int JsonReader::small_integer() const {
  const std::int64_t value = integer();
  if (!std::in_range<int>(value)) fail_here("is too large");
  return static_cast<int>(value);
}

double JsonReader::number() const {
  if (!value_->is_number()) fail_here("must be a number");
  return value_->get<double>();
}

bool JsonReader::boolean() const {
  if (!value_->is_boolean()) fail_here("must be true or false");
  return value_->get<bool>();
}

bool JsonReader::is_null() const { return value_->is_null(); }

void JsonReader::fail_here(const std::string& what) const {
  fail(ErrorKind::bad_data, "{}: {}", path_.empty() ? "document" : path_, what);
}

}  // namespace wavetune::db
