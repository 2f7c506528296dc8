// A JSON value with its path, so that a message can say where in a document something is wrong ("trials[3].outcome").
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wavetune::db {

/// Refers to a document that must outlive it. Every method throws Error bad_data with the path when the value is not
/// what is asked for.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  /// Member of an object; it must exist.
  JsonReader at(std::string_view name) const;
  /// Member of an object, if it is there and not null.
  std::optional<JsonReader> find(std::string_view name) const;
  /// Elements of a list.
  std::vector<JsonReader> elements() const;
  /// Members of an object, by name.
  std::vector<std::pair<std::string, JsonReader>> members() const;

  std::string text() const;
  std::int64_t integer() const;
  /// Checks the range of int.
  int small_integer() const;
  double number() const;
  bool boolean() const;
  bool is_null() const;
  /// For values that may have one of several types.
  const nlohmann::json& json() const { return *value_; }

  [[noreturn]] void fail_here(const std::string& what) const;
  const std::string& path() const { return path_; }

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace wavetune::db
