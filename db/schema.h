// The database's tables, as a list of steps from one version to the next (PRAGMA user_version).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "db/sqlite/connection.h"

namespace wavetune::db {

/// PRAGMA application_id of a tuning database: "wvtn" in ASCII. Tells it from any other SQLite file.
inline constexpr int application_id = 0x7776746E;

/// What column configurations.hash has for a text: 32 bits of its XXH3, signed.
std::int64_t text_hash(std::string_view text);

/// Steps[i] leads from version i to version i + 1. Released steps are never edited: old files have run them.
std::span<const std::string_view> migration_steps();

/// What this program writes: the number of steps.
int current_schema_version();

/// Version of an open file; 0 for an empty one. Throws Error bad_data when it is a SQLite file of something else.
int read_schema_version(sqlite::Connection& connection);

/// Brings the file to the last step in one transaction; several processes may try at once. Throws Error incompatible
/// when the file is newer than the steps.
void migrate(sqlite::Connection& connection, std::span<const std::string_view> steps = migration_steps());

/// For connections that cannot write: throws Error incompatible unless the file has exactly the current version.
void require_current_schema(sqlite::Connection& connection);

}  // namespace wavetune::db
