// Text operations of the Python and Jinja world that the chat template is written in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace wavetune::model {

/// json.dumps(value, ensure_ascii=False): ", " and ": " between items, keys in their order.
std::string python_json(const nlohmann::ordered_json& value);

/// str.isspace() of one character.
bool is_python_space(char32_t code);

/// str.strip(), str.lstrip(), str.rstrip(). `text` is valid UTF-8.
std::string_view python_strip(std::string_view text);
std::string_view python_lstrip(std::string_view text);
std::string_view python_rstrip(std::string_view text);

}  // namespace wavetune::model
