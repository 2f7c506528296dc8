// The values of an expression: Python's None, bool, int (64 bits), float, str and list (tuples are lists).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace wavetune::templates {

class Value {
 public:
  using List = std::vector<Value>;

  Value() = default;  ///< None
  Value(bool value) : data_(value) {}
  Value(int value) : data_(std::int64_t{value}) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(List value) : data_(std::make_shared<const List>(std::move(value))) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }  ///< not for a bool
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<const List>>(data_); }
  bool is_integral() const { return is_int() || is_bool(); }      ///< what Python takes for an integer
  bool is_number() const { return is_integral() || is_float(); }  ///< what Python calculates with

  // The caller has asked for the type: these throw std::bad_variant_access for another.
  std::int64_t as_int() const {
    return is_bool() ? std::int64_t{std::get<bool>(data_)} : std::get<std::int64_t>(data_);
  }
  double as_float() const { return is_float() ? std::get<double>(data_) : static_cast<double>(as_int()); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const List& as_list() const { return *std::get<std::shared_ptr<const List>>(data_); }

  /// Python's bool(x): zero, None, "" and [] are false.
  bool truthy() const;
  /// "int", "float", "bool", "str", "list", "None".
  std::string_view type_name() const;
  /// Python's repr: 3, 2.0, True, 'abc', [1, 2].
  std::string repr() const;
  /// Python's str: the same without the quotes of a string.
  std::string text() const { return is_string() ? as_string() : repr(); }

  /// Python's ==: numbers by value across types, others only with their own type.
  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::shared_ptr<const List>> data_;
};

/// The values that an expression's names stand for.
using Scope = std::map<std::string, Value, std::less<>>;

}  // namespace wavetune::templates
