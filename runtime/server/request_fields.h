// Reads the fields of a request's JSON object: every wrong type or range becomes a 400 that names the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/server/api_error.h"

namespace wavetune::server {

/// Null counts as absent everywhere, as clients send it for "not set". Refers to a document that must outlive it.
class RequestFields {
 public:
  /// `prefix` is the path of `object`, "" or "stream_options.". Throws ApiError 400 when it is no object.
  explicit RequestFields(const nlohmann::ordered_json& object, std::string prefix = {});

  /// Nullptr when absent.
  const nlohmann::ordered_json* find(std::string_view name) const;

  std::optional<std::string> text(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  /// An integer in [low, high].
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high) const;
  /// A finite number in [low, high].
  std::optional<double> number(std::string_view name, double low, double high) const;
  std::optional<RequestFields> object(std::string_view name) const;

  [[noreturn]] void fail_field(std::string_view name, const std::string& what) const;

 private:
  const nlohmann::ordered_json* object_;
  std::string prefix_;
};

/// Throws ApiError 400 when `body` is not JSON.
nlohmann::ordered_json parse_body(const std::string& body);

}  // namespace wavetune::server
