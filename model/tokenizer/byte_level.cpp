#include "model/tokenizer/byte_level.h"

#include <array>

#include "model/tokenizer/utf8.h"

namespace wavetune::model {
namespace {

constexpr bool printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

/// Printable bytes are written as the character of their value, the others in ascending order as U+0100, U+0101, ...
constexpr std::array<int, 0x200> make_byte_of_character() {
  std::array<int, 0x200> table{};
  for (int& byte : table) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = printable(byte) ? byte : next++;
    table[static_cast<std::size_t>(character)] = byte;
  }
  return table;
}

constexpr auto byte_of_character = make_byte_of_character();

}  // namespace

std::optional<std::string> bytes_from_byte_level(std::string_view entry) {
  std::string bytes;
  for (std::size_t position = 0; position < entry.size();) {
    const char32_t character = next_code_point(entry, position);
    if (character >= byte_of_character.size() || byte_of_character[character] < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(byte_of_character[character]));
  }
  return bytes;
}

}  // namespace wavetune::model
