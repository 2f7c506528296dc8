// What is tuned: an operator at a shape; and with which parameter values: a configuration. Both have one canonical text
// form, which is their key in the database.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace wavetune::db {

/// Named integers in alphabetical order: the dimensions of a problem or the parameter values of a configuration.
using NamedInts = std::map<std::string, std::int64_t, std::less<>>;

/// "bk=16,bm=64": canonical, alphabetical. Empty map gives "".
std::string to_text(const NamedInts& values);

/// Inverse of to_text. Throws Error bad_data and quotes the text when it is not of that form.
NamedInts named_ints_from_text(std::string_view text);

/// A configuration: one value for each parameter of an operator's space.
using Config = NamedInts;

/// One operator at one shape. `op` is the template family ("gemm"), `dtype` its number format ("bf16"), `dims` the
/// shape in the field's names (m, n, k, heads, ...). The dimension that grows with the batch is always called "m"
/// (tokens).
struct Problem {
  std::string op;
  std::string dtype;
  NamedInts dims;

  /// Canonical key, for example "gemm/bf16/k=2048,m=16,n=4096".
  std::string key() const;
  /// Value of a dimension. Throws Error internal when the problem has none of that name.
  std::int64_t dim(std::string_view name) const;
  /// Same, with a default for absent dimensions.
  std::int64_t dim_or(std::string_view name, std::int64_t fallback) const;

  auto operator<=>(const Problem&) const = default;
};

/// Inverse of Problem::key. Throws Error bad_data.
Problem problem_from_key(std::string_view key);

}  // namespace wavetune::db
