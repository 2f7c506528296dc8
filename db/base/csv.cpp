#include "db/base/csv.h"

namespace wavetune {
namespace {

/// Takes a quoted cell off the front of `text`, its quotes removed.
std::optional<std::string> take_quoted(std::string_view& text) {
  std::string cell;
  text.remove_prefix(1);
  for (;;) {
    const std::size_t quote = text.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
    cell += text.substr(0, quote);
    text.remove_prefix(quote + 1);
    if (!text.starts_with('"')) return cell;
    cell += '"';
    text.remove_prefix(1);
  }
}

}  // namespace

std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> cells;
  if (line.empty()) return cells;
  for (;;) {
    if (line.starts_with('"')) {
      auto cell = take_quoted(line);
      if (!cell || !(line.empty() || line.front() == ',')) return std::nullopt;
      cells.push_back(std::move(*cell));
    } else {
      cells.emplace_back(line.substr(0, line.find(',')));
      line.remove_prefix(cells.back().size());
    }
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

}  // namespace wavetune
