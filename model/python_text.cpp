#include "model/python_text.h"

#include <nlohmann/json.hpp>

#include "model/tokenizer/utf8.h"

namespace wavetune::model {

std::string python_json(const nlohmann::ordered_json& value) {
  std::string out;
  if (value.is_array()) {
    for (const auto& item : value) out += (out.empty() ? "" : ", ") + python_json(item);
    return '[' + out + ']';
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      out += (out.empty() ? "" : ", ") + nlohmann::ordered_json(key).dump() + ": " + python_json(item);
    }
    return '{' + out + '}';
  }
  // Scalars: nlohmann writes strings and the shortest form of numbers as Python does.
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_python_space(char32_t code) {
  return (code >= 0x9 && code <= 0xd) || (code >= 0x1c && code <= 0x20) || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

std::string_view python_lstrip(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    if (!is_python_space(next_code_point(text, position))) return text.substr(begin);
  }
  return {};
}

std::string_view python_rstrip(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    std::size_t position = begin;
    if (!is_python_space(next_code_point(text, position))) break;
    end = begin;
  }
  return text.substr(0, end);
}

std::string_view python_strip(std::string_view text) { return python_rstrip(python_lstrip(text)); }

}  // namespace wavetune::model
