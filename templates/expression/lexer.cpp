#include "templates/expression/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "db/base/error.h"

namespace wavetune::templates {
namespace {

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 8> word_symbols{"and", "or", "not", "in", "if", "else", "for", "lambda"};
// The longer spellings first: the first that fits is taken.
constexpr std::array<std::string_view, 34> symbols{"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-",
                                                   "*",  "/",  "%",  "&",  "|",  "^",  "~",  "<",  ">",  "!",  "(", ")",
                                                   "[",  "]",  "{",  "}",  ",",  ".",  ":",  "=",  "?",  "@"};

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      tokens.push_back(next());
      if (tokens.back().kind == TokenKind::end) return tokens;
    }
  }

 private:
  Token next() {
    Token token;
    token.column = static_cast<std::uint32_t>(at_);
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number(token);
    if (c == '\'' || c == '"') return quoted(token);
    if (is_name_start(c)) return word(token);
    for (const std::string_view symbol : symbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      at_ += symbol.size();
      token.kind = TokenKind::symbol;
      token.text = symbol == "&&" ? "and" : symbol == "||" ? "or" : symbol;
      return token;
    }
    error(token, fmt::format("unexpected character '{}'", c));
  }

  Token word(Token token) {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    token.text = text_.substr(start, at_ - start);
    token.kind = TokenKind::literal;
    if (token.text == "True" || token.text == "true") {
      token.value = true;
    } else if (token.text == "False" || token.text == "false") {
      token.value = false;
    } else if (token.text != "None") {
      const bool symbol = std::find(word_symbols.begin(), word_symbols.end(), token.text) != word_symbols.end();
      token.kind = symbol ? TokenKind::symbol : TokenKind::name;
    }
    return token;
  }

  Token number(Token token) {
    token.kind = TokenKind::literal;
    std::size_t end = at_;
    const bool prefixed = text_[at_] == '0' && at_ + 1 < text_.size() && std::isalpha(text_[at_ + 1]) != 0;
    int base = 10;
    if (prefixed) {
      const char letter = static_cast<char>(std::tolower(text_[at_ + 1]));
      base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 10;
    }
    if (base != 10) at_ += 2;
    bool whole = true;
    for (end = at_; end < text_.size(); ++end) {
      const char c = text_[end];
      if (is_digit(c) || c == '_' || (base == 16 && std::isxdigit(c) != 0)) continue;
      const bool exponent = base == 10 && (c == 'e' || c == 'E');
      if (base != 10 || (c != '.' && !exponent)) break;
      whole = false;
      if (exponent && end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-')) ++end;
    }
    std::string digits(text_.substr(at_, end - at_));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    const char* last = digits.data() + digits.size();
    std::from_chars_result read{};
    if (whole) {
      std::int64_t value = 0;
      read = std::from_chars(digits.data(), last, value, base);
      token.value = value;
    } else {
      double value = 0;
      read = std::from_chars(digits.data(), last, value);
      token.value = value;
    }
    if (read.ec == std::errc::result_out_of_range) error(token, "the number does not fit in 64 bits");
    if (read.ec != std::errc() || read.ptr != last || (end < text_.size() && is_name_start(text_[end]))) {
      error(token, "this is not a number");
    }
    at_ = end;
    return token;
  }

  Token quoted(Token token) {
    token.kind = TokenKind::literal;
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
      value += c;
    }
    if (at_ == text_.size()) error(token, "the string does not end");
    ++at_;
    token.value = std::move(value);
    return token;
  }

  [[noreturn]] void error(const Token& token, std::string_view fault) const {
    syntax_error(where_, text_, token.column, fault);
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
};

}  // namespace

void syntax_error(std::string_view where, std::string_view text, std::uint32_t column, std::string_view fault) {
  // Some of the text around the place is enough: a generated condition can be pages long.
  constexpr std::size_t around = 60;
  const std::size_t at = std::min<std::size_t>(column, text.size());
  const std::size_t first = at > around ? at - around : 0;
  const std::string_view before = text.substr(first, at - first);
  const std::string_view after = text.substr(at, around);
  fail(ErrorKind::bad_data, "{}: {} at column {}: {}{} <-- here --> {}{}; it has to be a Python expression", where,
       fault, column + 1, first > 0 ? "..." : "", before, after, at + around < text.size() ? "..." : "");
}

std::vector<Token> tokens_of(std::string_view text, std::string_view where) { return Lexer(text, where).run(); }

}  // namespace wavetune::templates
