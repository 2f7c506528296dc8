// Compiled code objects on disk, named by the hash of everything that decides their content.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/trial.h"

namespace wavetune::jit {

struct CachedCode {
  std::vector<std::byte> code;
  std::string log;
  db::Resources resources;
};

/// One file an entry. Files are written beside their place and renamed, carry a checksum that is verified on every
/// read, and a corrupt one is removed and counts as absent. When the limit is passed, the entries unused for longest
/// are removed (a read renews the file's modification time). Several processes may share a directory. Thread-safe. A
/// directory that cannot be written makes store() do nothing: the cache is an economy, not a promise.
class CodeCache {
 public:
  CodeCache(std::filesystem::path directory, std::size_t limit_bytes);

  /// Name of an entry. `compiler` says which compiler of which version ("cpu 0.1.0 g++ 12.2.0").
  static std::string key(std::string_view compiler, std::string_view source, const std::vector<std::string>& options);

  std::optional<CachedCode> load(const std::string& key);
  void store(const std::string& key, const CachedCode& entry);

  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void evict();

  std::filesystem::path directory_;
  std::size_t limit_bytes_;
  std::mutex mutex_;
  std::size_t known_bytes_ = 0;  ///< of the directory at the last look, plus what this process stored since
};

/// WAVETUNE_CACHE_DIR, else XDG_CACHE_HOME/wavetune, else HOME/.cache/wavetune, else a folder of this user under /tmp.
std::filesystem::path default_cache_directory();

}  // namespace wavetune::jit
