#include "runtime/server/request_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace wavetune::server {
namespace {

std::optional<std::int64_t> as_integer(const nlohmann::ordered_json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  return value.get<std::int64_t>();
}

}  // namespace

RequestFields::RequestFields(const nlohmann::ordered_json& object, std::string prefix)
    : object_(&object), prefix_(std::move(prefix)) {
  if (object.is_object()) return;
  if (prefix_.empty()) throw ApiError(400, "the body must be a JSON object");
  const std::string field = prefix_.substr(0, prefix_.size() - 1);
  throw ApiError(400, field + ": must be an object", field);
}

const nlohmann::ordered_json* RequestFields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> RequestFields::text(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail_field(name, "must be a string");
  return value->get<std::string>();
}

std::optional<bool> RequestFields::boolean(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail_field(name, "must be true or false");
  return value->get<bool>();
}

std::optional<std::int64_t> RequestFields::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_integer(*value);
  if (!number || *number < low || *number > high) {
    if (high == std::numeric_limits<std::int64_t>::max())
      fail_field(name, fmt::format("must be an integer, at least {}", low));
    fail_field(name, fmt::format("must be an integer from {} to {}", low, high));
  }
  return number;
}

std::optional<double> RequestFields::number(std::string_view name, double low, double high) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  // Written so that not-a-number fails.
  if (!(number >= low && number <= high)) fail_field(name, fmt::format("must be a number from {} to {}", low, high));
  return number;
}

std::optional<RequestFields> RequestFields::object(std::string_view name) const {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  return RequestFields(*value, fmt::format("{}{}.", prefix_, name));
}

void RequestFields::fail_field(std::string_view name, const std::string& what) const {
  const std::string field = fmt::format("{}{}", prefix_, name);
  throw ApiError(400, field + ": " + what, field);
}

nlohmann::ordered_json parse_body(const std::string& body) {
  try {
    return nlohmann::ordered_json::parse(body);
  } catch (const nlohmann::json::exception& error) {
    throw ApiError(400, std::string("the body is not JSON: ") + error.what());
  }
}

}  // namespace wavetune::server
