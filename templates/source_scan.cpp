#include "templates/source_scan.h"

#include <algorithm>
#include <cctype>

namespace wavetune::templates::source {
namespace {

void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

size_t end_of_literal(std::string_view text, size_t quote) {
  size_t i = quote + 1;
  while (i < text.size() && text[i] != text[quote] && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

}  // namespace

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string code_only(std::string_view source) {
  std::string code(source);
  bool line_start = true;
  for (size_t i = 0; i < code.size();) {
    const std::string_view rest = std::string_view(source).substr(i);
    size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = std::min(source.find('\n', i), source.size());
      blank(code, i, end);
    } else if (rest.starts_with("/*")) {
      const size_t close = source.find("*/", i + 2);
      end = close == std::string_view::npos ? source.size() : close + 2;
      blank(code, i, end);
    } else if (rest.starts_with("R\"") && (i == 0 || !is_word(source[i - 1]))) {
      const size_t open = source.find('(', i);
      const std::string closing = ")" + std::string(source.substr(i + 2, open - i - 2)) + "\"";
      const size_t close = source.find(closing, i);
      end = close == std::string_view::npos ? source.size() : close + closing.size();
      blank(code, i, end);
    } else if (source[i] == '"' || (source[i] == '\'' && (i == 0 || !is_word(source[i - 1])))) {
      end = end_of_literal(source, i);
      blank(code, i, end);
      line_start = false;
    } else if (source[i] == '#' && line_start) {
      end = i;
      do {
        end = std::min(source.find('\n', end + 1), source.size());
      } while (end < source.size() && source[end - 1] == '\\');
      blank(code, i, end);
    } else if (source[i] == '\n') {
      line_start = true;
    } else if (!is_space(source[i])) {
      line_start = false;
    }
    i = end;
  }
  return code;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

size_t skip_space(std::string_view code, size_t i) {
  while (i < code.size() && is_space(code[i])) ++i;
  return i;
}

std::string_view word_at(std::string_view code, size_t i) {
  size_t end = i;
  while (end < code.size() && is_word(code[end])) ++end;
  return code.substr(i, end - i);
}

size_t after_brackets(std::string_view code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '[' || code[i] == '{') ++depth;
    if ((code[i] == ')' || code[i] == ']' || code[i] == '}') && --depth == 0) return i + 1;
  }
  return code.size();
}

size_t find_top_level(std::string_view code, size_t begin, std::string_view targets) {
  int angles = 0;
  bool in_type = true;
  for (size_t i = begin; i < code.size(); ++i) {
    if (angles == 0 && targets.find(code[i]) != std::string_view::npos) return i;
    if (code[i] == '(' || code[i] == '[' || code[i] == '{') {
      if (code[i] == '[') in_type = false;
      i = after_brackets(code, i) - 1;
    } else if (in_type && code[i] == '<') {
      ++angles;
    } else if (in_type && code[i] == '>') {
      --angles;
    }
  }
  return code.size();
}

bool contains_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_word(text[at - 1])) && (at + word.size() == text.size() || !is_word(text[at + word.size()])))
      return true;
  }
  return false;
}

}  // namespace wavetune::templates::source
