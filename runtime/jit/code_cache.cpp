#include "runtime/jit/code_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "db/base/hash.h"
#include "runtime/jit/resources_json.h"

namespace wavetune::jit {
namespace {

namespace fs = std::filesystem;

// An entry is: magic, 32 hex digits of the hash of the rest, u64 length of a JSON head (log, resources), the head, the
// code.
constexpr std::string_view magic = "wavetune code 1\n";
constexpr std::size_t checksum_bytes = 32;
constexpr std::string_view suffix = ".code";

std::string encode(const CachedCode& entry) {
  nlohmann::json head = {{"log", entry.log}, {"resources", resources_to_json(entry.resources)}};
  const std::string head_text = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::uint64_t length = head_text.size();
  std::string body(sizeof length, '\0');
  std::memcpy(body.data(), &length, sizeof length);
  body += head_text;
  body.append(reinterpret_cast<const char*>(entry.code.data()), entry.code.size());
  return std::string(magic) + content_hash(body) + body;
}

std::optional<CachedCode> decode(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + checksum_bytes + sizeof(std::uint64_t))
    return std::nullopt;
  const std::string_view checksum = bytes.substr(magic.size(), checksum_bytes);
  std::string_view body = bytes.substr(magic.size() + checksum_bytes);
  if (content_hash(body) != checksum) return std::nullopt;
  std::uint64_t length = 0;
  std::memcpy(&length, body.data(), sizeof length);
  body.remove_prefix(sizeof length);
  if (length > body.size()) return std::nullopt;
  const nlohmann::json head = nlohmann::json::parse(body.substr(0, length), nullptr, false);
  if (!head.is_object()) return std::nullopt;
  CachedCode entry;
  entry.log = head.value("log", "");
  entry.resources = resources_from_json(head.value("resources", nlohmann::json::object()));
  body.remove_prefix(length);
  const auto* code = reinterpret_cast<const std::byte*>(body.data());
  entry.code.assign(code, code + body.size());
  return entry;
}

struct File {
  fs::path path;
  fs::file_time_type used;
  std::size_t bytes;
};

/// The entries of a directory. Files that vanish while we look (another process evicts) are left out.
std::vector<File> list(const fs::path& directory) {
  std::vector<File> files;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(directory, error)) {
    if (item.path().extension() != suffix) continue;
    std::error_code size_error;
    std::error_code time_error;
    const std::uintmax_t bytes = item.file_size(size_error);
    const fs::file_time_type used = item.last_write_time(time_error);
    if (!size_error && !time_error) files.push_back({item.path(), used, static_cast<std::size_t>(bytes)});
  }
  return files;
}

std::size_t total_bytes(const std::vector<File>& files) {
  std::size_t total = 0;
  for (const File& file : files) total += file.bytes;
  return total;
}

}  // namespace

CodeCache::CodeCache(fs::path directory, std::size_t limit_bytes)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes) {
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  known_bytes_ = total_bytes(list(directory_));
}

std::string CodeCache::key(std::string_view compiler, std::string_view source,
                           const std::vector<std::string>& options) {
  // Lengths in front of the parts, so that no two different lists give the same text.
  std::string all = fmt::format("{}:{}{}:", compiler.size(), compiler, options.size());
  for (const std::string& option : options) all += fmt::format("{}:{}", option.size(), option);
  all += source;
  return content_hash(all);
}

fs::path CodeCache::path_of(const std::string& key) const { return directory_ / (key + std::string(suffix)); }

std::optional<CachedCode> CodeCache::load(const std::string& key) {
  const fs::path path = path_of(key);
  std::string bytes;
  try {
    bytes = read_file(path);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::optional<CachedCode> entry = decode(bytes);
  if (!entry) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return entry;
}

void CodeCache::store(const std::string& key, const CachedCode& entry) {
  const std::string bytes = encode(entry);
  try {
    write_file_atomic(path_of(key), bytes);
  } catch (const Error&) {
    return;
  }
  const std::lock_guard lock(mutex_);
  known_bytes_ += bytes.size();
  if (known_bytes_ > limit_bytes_) evict();
}

void CodeCache::evict() {
  std::vector<File> files = list(directory_);
  known_bytes_ = total_bytes(files);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  // Down to four fifths, so that the next store does not have to look again.
  const std::size_t target = limit_bytes_ / 5 * 4;
  for (const File& file : files) {
    if (known_bytes_ <= target) break;
    if (::unlink(file.path.c_str()) == 0) known_bytes_ -= file.bytes;
  }
}

fs::path default_cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string chosen = variable("WAVETUNE_CACHE_DIR"); !chosen.empty()) return chosen;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "wavetune";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "wavetune";
  return fs::path("/tmp") / fmt::format("wavetune-cache-{}", ::getuid());
}

}  // namespace wavetune::jit
