#include "db/sqlite/journal.h"

#include <spdlog/spdlog.h>
#include <sys/vfs.h>

#include <chrono>
#include <thread>

namespace wavetune::db::sqlite {
namespace {

struct Magic {
  long number;
  std::string_view name;
};

// statfs(2) and linux/magic.h; Lustre, BeeGFS and GPFS from their own sources (they are not in the kernel tree).
constexpr Magic network_magics[] = {
    {0x6969, "NFS"},      {0x517B, "SMB"},        {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB2"}, {0x65735546, "FUSE"},
    {0x00C36400, "Ceph"}, {0x0BD00BD0, "Lustre"}, {0x19830326, "BeeGFS"}, {0x47504653, "GPFS"}, {0x5346414F, "AFS"},
    {0x01021997, "9P"},   {0x7461636F, "OCFS2"},  {0x01161970, "GFS2"},   {0x73757245, "Coda"}, {0x6B414653, "kAFS"},
};

/// Changing the mode takes an exclusive lock for which SQLite's busy handler is not always asked, so we wait ourselves.
std::string set_journal_mode(Connection& connection, const std::string& mode) {
  const std::string sql = "PRAGMA journal_mode=" + mode;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(busy_timeout_ms);
  for (;;) {
    const int code = sqlite3_exec(connection.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return connection.scalar("PRAGMA journal_mode");
    if ((code & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) connection.fail_with(code);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

std::optional<std::string_view> network_file_system(long magic) {
  // f_type is signed and sign-extended on some systems: only the low 32 bits mean something.
  for (const Magic& known : network_magics) {
    if ((magic & 0xFFFFFFFFL) == known.number) return known.name;
  }
  return std::nullopt;
}

std::optional<std::string_view> network_file_system_of(const std::filesystem::path& path) {
  struct statfs info {};
  std::filesystem::path place = std::filesystem::absolute(path);
  if (::statfs(place.c_str(), &info) != 0 && ::statfs(place.parent_path().c_str(), &info) != 0) return std::nullopt;
  return network_file_system(static_cast<long>(info.f_type));
}

void set_journal(Connection& connection) {
  const auto network = network_file_system_of(connection.path());
  const std::string wanted = network ? "delete" : "wal";
  if (set_journal_mode(connection, wanted) != wanted) {
    spdlog::warn("database {}: this place does not allow journal mode {}; writing is slower",
                 connection.path().string(), wanted);
  }
  if (network) {
    spdlog::warn(
        "database {}: lies on a network file system ({}), so it uses the rollback journal instead of WAL; keep it on a "
        "local disk and bring databases of several nodes together with 'wavetune merge'",
        connection.path().string(), *network);
  }
  connection.execute("PRAGMA synchronous=FULL");
  connection.execute("PRAGMA foreign_keys=ON");
}

}  // namespace wavetune::db::sqlite
