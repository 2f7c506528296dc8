// Which journal a database file may use where it lies, and how durable a commit is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "db/sqlite/connection.h"

namespace wavetune::db::sqlite {

/// Name of the network (or user space) file system whose statfs magic number this is, e.g. "NFS"; nothing for local
/// ones.
std::optional<std::string_view> network_file_system(long magic);

/// Same, of the file system that holds `path` (the file or, when it is absent, its folder).
std::optional<std::string_view> network_file_system_of(const std::filesystem::path& path);

/// Sets journal and durability on a writable connection and logs a warning on a network file system.
///
/// WAL needs memory shared by all processes that use the file, which network file systems do not give
/// (sqlite.org/wal.html, "All processes using a database must be on the same host computer"): there the rollback
/// journal is used, which is slower and only as safe as the file system's locks. synchronous=FULL in both: with NORMAL
/// a WAL commit survives the death of the process but not a power cut, and a trial costs far more than the fsync that
/// keeps it.
void set_journal(Connection& connection);

}  // namespace wavetune::db::sqlite
