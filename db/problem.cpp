#include "db/problem.h"

#include <charconv>

#include "db/base/error.h"

namespace wavetune::db {

std::string to_text(const NamedInts& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}={}", name, value);
  }
  return text;
}

NamedInts named_ints_from_text(std::string_view text) {
  NamedInts values;
  const std::string_view whole = text;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const size_t equals = item.find('=');
    std::int64_t value = 0;
    const char* end = item.data() + item.size();
    const auto parsed = equals == std::string_view::npos
                            ? std::from_chars_result{item.data(), std::errc::invalid_argument}
                            : std::from_chars(item.data() + equals + 1, end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end || equals == 0) {
      fail(ErrorKind::bad_data, "'{}' is not a list of name=integer (in '{}')", item, whole);
    }
    if (!values.emplace(std::string(item.substr(0, equals)), value).second) {
      fail(ErrorKind::bad_data, "'{}' is given twice (in '{}')", item.substr(0, equals), whole);
    }
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return values;
}

std::string Problem::key() const { return fmt::format("{}/{}/{}", op, dtype, to_text(dims)); }

std::int64_t Problem::dim(std::string_view name) const {
  const auto found = dims.find(name);
  if (found == dims.end()) fail(ErrorKind::internal, "problem {} has no dimension '{}'", key(), name);
  return found->second;
}

std::int64_t Problem::dim_or(std::string_view name, std::int64_t fallback) const {
  const auto found = dims.find(name);
  return found == dims.end() ? fallback : found->second;
}

Problem problem_from_key(std::string_view key) {
  const size_t first = key.find('/');
  const size_t second = first == std::string_view::npos ? first : key.find('/', first + 1);
  if (second == std::string_view::npos || first == 0) {
    fail(ErrorKind::bad_data, "'{}' is not a problem key (op/dtype/name=value,...)", key);
  }
  return {std::string(key.substr(0, first)), std::string(key.substr(first + 1, second - first - 1)),
          named_ints_from_text(key.substr(second + 1))};
}

}  // namespace wavetune::db
