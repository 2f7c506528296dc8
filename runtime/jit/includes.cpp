#include "runtime/jit/includes.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <set>
#include <system_error>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/hash.h"

namespace wavetune::jit {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const std::vector<std::string>& options) {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    if (!option.starts_with("-I")) continue;
    if (option.size() > 2)
      folders.emplace_back(option.substr(2));
    else if (i + 1 < options.size())
      folders.emplace_back(options[i + 1]);
  }
  return folders;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

/// NAME of a line `#include "NAME"` or `#include <NAME>`; empty for any other.
std::string_view included_name(std::string_view line) {
  line = without_blanks(line);
  if (!line.starts_with('#')) return {};
  line = without_blanks(line.substr(1));
  if (!line.starts_with("include")) return {};
  line = without_blanks(line.substr(7));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(1, end - 1);
}

struct Text {
  fs::path folder;  ///< of the file; empty for the source
  std::string content;
};

}  // namespace

std::string includes_fingerprint(std::string_view source, const std::vector<std::string>& options) {
  const std::vector<fs::path> folders = folders_of(options);
  if (folders.empty()) return "";
  std::string fingerprint;
  std::set<fs::path> seen;
  std::deque<Text> waiting;
  waiting.push_back({"", std::string(source)});
  while (!waiting.empty()) {
    const Text text = std::move(waiting.front());
    waiting.pop_front();
    std::vector<fs::path> places = folders;
    if (!text.folder.empty()) places.insert(places.begin(), text.folder);
    for (std::size_t begin = 0; begin < text.content.size();) {
      const std::size_t end = std::min(text.content.find('\n', begin), text.content.size());
      const std::string_view name = included_name(std::string_view(text.content).substr(begin, end - begin));
      begin = end + 1;
      if (name.empty()) continue;
      for (const fs::path& place : places) {
        const fs::path file = place / name;
        std::error_code ignored;
        if (!fs::is_regular_file(file, ignored)) continue;
        if (!seen.insert(file.lexically_normal()).second) break;
        try {
          std::string content = read_file(file);
          fingerprint += fmt::format("{}:{}\n", name, content_hash(content));
          waiting.push_back({file.parent_path(), std::move(content)});
        } catch (const Error&) {
          // Unreadable for us is unreadable for the compiler, which says so.
        }
        break;
      }
    }
  }
  return fingerprint;
}

}  // namespace wavetune::jit
