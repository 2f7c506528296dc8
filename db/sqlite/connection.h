// One open SQLite database file.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace wavetune::db::sqlite {

enum class Access {
  read_only,   ///< the file must exist; works on read-only media too when no write-ahead log is pending
  read_write,  ///< the file must exist
  create,      ///< made when absent
};

/// How long a call waits for another process's write lock. On a slow disk, making a file of a million trials smaller
/// (gc) holds it for 10 s, which must not end a tune.
inline constexpr int busy_timeout_ms = 60'000;

/// Opening checks that the file is a SQLite database. Not thread-safe: Database serialises.
class Connection {
 public:
  /// Throws Error: not_found (no such file or folder), bad_data (not SQLite, corrupt), io (permission, read-only).
  Connection(std::filesystem::path path, Access access);

  /// Runs one or more statements without results.
  void execute(const std::string& sql);
  /// First column of the first row of a statement, as text ("" when there is no row).
  std::string scalar(std::string_view sql);

  sqlite3* get() const { return handle_.get(); }
  const std::filesystem::path& path() const { return path_; }

  /// Throws the Error that belongs to a SQLite result code, with the path and what to do.
  [[noreturn]] void fail_with(int code) const;

  struct Finalizer {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalizer>;
  /// For Statement: preparing a query over the view of winners takes ten times as long as running it. Null when none
  /// of this text is idle.
  Prepared take_prepared(std::string_view sql);
  void keep_prepared(std::string sql, Prepared prepared) noexcept;

 private:
  struct Closer {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };

  /// The result code of opening and of reading the first page.
  int open(const std::string& name, int flags);
  /// SQLite reads the missing part of a last page as zeros. Pages that only the write-ahead log holds may be cut by a
  /// kill.
  void check_whole_pages();

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Closer> handle_;
  std::map<std::string, Prepared, std::less<>> idle_;  ///< prepared statements that nobody uses now
};

}  // namespace wavetune::db::sqlite
