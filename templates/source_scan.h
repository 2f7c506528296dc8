// Looking into C++ source text without a parser: enough to find declarations by their words and brackets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wavetune::templates::source {

bool is_word(char c);
bool is_space(char c);

/// The source with comments, literals and preprocessor lines blanked: same length, same lines, only code left.
std::string code_only(std::string_view source);

std::string_view trim(std::string_view text);
std::size_t skip_space(std::string_view code, std::size_t i);
/// Empty when no word begins at `i`.
std::string_view word_at(std::string_view code, std::size_t i);
bool contains_word(std::string_view text, std::string_view word);

/// Position after the bracket that closes the one at `open`.
std::size_t after_brackets(std::string_view code, std::size_t open);
/// First of `targets` at bracket depth 0 from `begin` on; angle brackets count until the first '['.
std::size_t find_top_level(std::string_view code, std::size_t begin, std::string_view targets);

}  // namespace wavetune::templates::source
