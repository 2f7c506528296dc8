// GPT-2's way of writing any byte as a printable character: how byte-level vocabularies are stored in tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wavetune::model {

/// The bytes that a vocabulary entry stands for ("Ġthe" -> " the"), or nothing when a character of it stands for no
/// byte. `entry` must be valid UTF-8.
std::optional<std::string> bytes_from_byte_level(std::string_view entry);

}  // namespace wavetune::model
