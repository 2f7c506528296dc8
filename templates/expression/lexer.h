// The tokens of an expression.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/expression/value.h"

namespace wavetune::templates {

enum class TokenKind { literal, name, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< a name's or symbol's; && is "and", || is "or", ! is "!", words such as "not" are symbols
  std::uint32_t column = 0;
  Value value;  ///< a literal's
};

/// Throws Error bad_data naming `where` and the column. The last token is of kind end.
std::vector<Token> tokens_of(std::string_view text, std::string_view where);

/// The one form of a syntax error: what is wrong, where, and the text with a mark at the column.
[[noreturn]] void syntax_error(std::string_view where, std::string_view text, std::uint32_t column,
                               std::string_view fault);

}  // namespace wavetune::templates
