// Typed access to the fields of a JSON object whose errors name the file and the field.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::model {

/// Parses a whole document. Throws Error bad_data with `source` (a path) and the position of the mistake.
nlohmann::json parse_json(std::string_view text, const std::string& source);

/// A view of one object. A field that is absent and a field that is null are the same thing here, as in Hugging Face's
/// configurations. All methods throw Error bad_data for a field of another type.
class JsonFields {
 public:
  /// `object` must outlive this. Throws Error bad_data when it is not an object.
  JsonFields(const nlohmann::json& object, std::string source);

  const std::string& source() const { return source_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The value, or nullptr when absent or null.
  const nlohmann::json* find(std::string_view name) const;

  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string> string(std::string_view name) const;
  std::optional<std::vector<std::string>> strings(std::string_view name) const;
  std::optional<JsonFields> object(std::string_view name) const;

  /// These throw Error bad_data when the field is absent.
  std::int64_t required_integer(std::string_view name) const;
  double required_number(std::string_view name) const;
  /// An integer >= 1.
  std::int64_t required_size(std::string_view name) const;

 private:
  [[noreturn]] void wrong_type(std::string_view name, std::string_view expected) const;
  [[noreturn]] void missing(std::string_view name) const;

  const nlohmann::json* object_;
  std::string source_;
};

}  // namespace wavetune::model
