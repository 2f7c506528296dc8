#include "db/sqlite/connection.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "db/base/error.h"
#include "db/sqlite/checked_pages.h"
#include "db/sqlite/statement.h"

namespace wavetune::db::sqlite {
namespace {

int flags_of(Access access) {
  switch (access) {
    case Access::read_only:
      return SQLITE_OPEN_READONLY;
    case Access::read_write:
      return SQLITE_OPEN_READWRITE;
    case Access::create:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READONLY;
}

/// A file: URI that says that nobody writes the file; the only way to read a WAL database in a folder where the shared
/// memory file cannot be made.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

bool has_pending_log(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path.string() + "-wal", error);
  return !error && size != 0;
}

}  // namespace

Connection::Connection(std::filesystem::path path, Access access) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    fail(ErrorKind::bad_data, "database {}: is a folder; name the file in it", path_.string());
  }
  if (access == Access::create) {
    const std::filesystem::path folder = std::filesystem::absolute(path_).parent_path();
    if (!std::filesystem::is_directory(folder, ignored)) {
      fail(ErrorKind::not_found, "database {}: folder {} does not exist; make it first", path_.string(),
           folder.string());
    }
  } else if (!std::filesystem::exists(path_, ignored)) {
    fail(ErrorKind::not_found, "database {}: no such file; 'wavetune tune --db FILE' makes one", path_.string());
  }
  const int code = open(path_.string(), flags_of(access));
  if (code != SQLITE_OK && access == Access::read_only && (code & 0xff) != SQLITE_NOTADB && !has_pending_log(path_)) {
    if (open(immutable_uri(path_), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI) == SQLITE_OK) return;
  }
  if (code != SQLITE_OK) fail_with(code);
  check_whole_pages();
  if (access != Access::read_only && sqlite3_db_readonly(get(), "main") == 1) {
    if (::access(path_.c_str(), W_OK) == 0) {
      fail(
          ErrorKind::bad_data,
          "database {}: damaged (its header names a format that this SQLite cannot write); restore a copy or an export",
          path_.string());
    }
    fail(ErrorKind::io, "database {}: the file is read-only; change its permissions or work on a copy", path_.string());
  }
}

int Connection::open(const std::string& name, int flags) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, checked_pages_vfs());
  handle_.reset(raw);
  if (code != SQLITE_OK) return code;
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  // 64 MB instead of 2: the inner pages of a million trials' indexes stay at hand.
  sqlite3_exec(raw, "PRAGMA cache_size=-65536", nullptr, nullptr, nullptr);
  if ((flags & SQLITE_OPEN_READWRITE) != 0) reserve_checksums(raw);
  // SQLite opens lazily; reading the version reads the first page, where a file of another kind or a truncated one
  // shows.
  return sqlite3_exec(raw, "PRAGMA schema_version", nullptr, nullptr, nullptr);
}

void Connection::check_whole_pages() {
  if (has_pending_log(path_)) return;
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  if (error) return;  // ":memory:"
  if (size % std::stoul(scalar("PRAGMA page_size")) != 0) {
    fail(ErrorKind::bad_data, "database {}: cut off in the middle of a page; restore a copy or an export",
         path_.string());
  }
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code);
}

std::string Connection::scalar(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : std::string();
}

Connection::Prepared Connection::take_prepared(std::string_view sql) {
  const auto found = idle_.find(sql);
  if (found == idle_.end()) return nullptr;
  Prepared prepared = std::move(found->second);
  idle_.erase(found);
  return prepared;
}

void Connection::keep_prepared(std::string sql, Prepared prepared) noexcept {
  // More texts than the program has would mean that somebody writes values into them.
  constexpr std::size_t most_idle = 64;
  if (idle_.size() >= most_idle) return;
  try {
    idle_.try_emplace(std::move(sql), std::move(prepared));
  } catch (const std::bad_alloc&) {
    // It is prepared again.
  }
}

void Connection::fail_with(int code) const {
  const std::string file = path_.string();
  const std::string reason = handle_ ? sqlite3_errmsg(get()) : sqlite3_errstr(code);
  // A limit on file sizes and a quota end here, too; which it was SQLite does not keep.
  if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_FSYNC) {
    fail(ErrorKind::io,
         "database {}: cannot be written ({}): the disk, a quota or a limit is full, or the disk fails; make room and "
         "run again",
         file, reason);
  }
  if (code == SQLITE_IOERR_DATA) {
    fail(ErrorKind::bad_data,
         "database {}: damaged (a page does not fit its checksum: a fault of the disk, or another program wrote it); "
         "restore a copy or an export; 'wavetune db verify' says more",
         file);
  }
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      fail(ErrorKind::bad_data, "database {}: not a SQLite file; check the path", file);
    case SQLITE_CORRUPT:
      fail(ErrorKind::bad_data, "database {}: damaged ({}); restore a copy or an export", file, reason);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(ErrorKind::io, "database {}: another process has held its lock for {} s; see who has it open", file,
           busy_timeout_ms / 1000);
    case SQLITE_READONLY:
      fail(ErrorKind::io, "database {}: read-only ({}); check the permissions of the file and its folder", file,
           reason);
    case SQLITE_FULL:
      fail(ErrorKind::io, "database {}: the disk is full; make room and run again", file);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_IOERR:
    case SQLITE_AUTH:
      fail(ErrorKind::io, "database {}: {}; check the permissions of the file and its folder", file, reason);
    default:
      fail(ErrorKind::internal, "database {}: {} (SQLite code {})", file, reason, code);
  }
}

}  // namespace wavetune::db::sqlite
