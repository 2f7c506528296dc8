// UTF-8: repairing it as Python's errors="replace" does, whole or in a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wavetune::model {

/// Turns a stream of bytes into valid UTF-8. Each maximal subpart of a sequence that cannot become a character is
/// replaced by one U+FFFD (Unicode chapter 3.9; what Python and Rust do). A character whose bytes arrive in pieces
/// comes out when it is complete.
class Utf8Stream {
 public:
  /// What is certain after these bytes; an unfinished character (at most 3 bytes) is held back.
  std::string push(std::string_view bytes);
  /// The end: an unfinished character becomes U+FFFD. The stream can then be used anew.
  std::string finish();

 private:
  void push_byte(unsigned char byte, std::string& out);

  std::string held_;                     ///< the unfinished character
  int missing_ = 0;                      ///< continuation bytes that it still needs
  unsigned char low_ = 0, high_ = 0xff;  ///< range that its next byte must lie in
};

/// The whole text at once.
std::string repaired_utf8(std::string_view bytes);

/// Appends a character. `code` must be a Unicode scalar value.
void append_utf8(std::string& out, char32_t code);

/// Reads the character at `position` < text.size() of valid UTF-8 and moves behind it. Of other text it makes some
/// number, but never reads outside.
char32_t next_code_point(std::string_view text, std::size_t& position);

}  // namespace wavetune::model
