#include "runtime/jit/compile_log.h"

#include <fmt/format.h>

namespace wavetune::jit {
namespace {

/// True for characters that end a path in a diagnostic.
bool ends_path(char c) { return c == ' ' || c == '\n' || c == ':' || c == '\'' || c == '"' || c == '<' || c == '>'; }

}  // namespace

std::string clean_log(std::string_view log, std::string_view temporary_directory, std::size_t limit) {
  std::string clean;
  while (!log.empty()) {
    const std::size_t found = temporary_directory.empty() ? std::string_view::npos : log.find(temporary_directory);
    clean += log.substr(0, found);
    if (found == std::string_view::npos) break;
    log.remove_prefix(found);
    std::size_t end = 0;
    while (end < log.size() && !ends_path(log[end])) ++end;
    const std::string_view path = log.substr(0, end);
    const std::size_t slash = path.rfind('/');
    clean += path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    log.remove_prefix(end);
  }
  while (!clean.empty() && (clean.back() == '\n' || clean.back() == '\0')) clean.pop_back();
  if (clean.size() > limit) {
    const std::size_t left_out = clean.size() - limit;
    clean.resize(limit);
    clean += fmt::format("\n[{} more bytes]", left_out);
  }
  return clean;
}

}  // namespace wavetune::jit
