// A SQLite VFS that keeps a checksum in every page of a database file.
#pragma once

#include <sqlite3.h>

namespace wavetune::db::sqlite {

/// Name of the VFS (sqlite.org/vfs.html), for sqlite3_open_v2: the default one, but pages of files that have room for
/// it get a checksum (page_checksum.h) when they are written to the database file, and are compared with it when they
/// are read; where they differ, the call ends with SQLITE_IOERR_DATA. SQLite checks its structures, not their contents:
/// an index entry that says 10 us where the row says 90 us is a sound structure. Frames of the write-ahead log have
/// SQLite's own checksums. Other programs read such files as always; a page that one of them changes counts as damaged.
const char* checked_pages_vfs();

/// Gives a new, still empty database room for checksums. One that has content gets it at its next VACUUM.
void reserve_checksums(sqlite3* database);

}  // namespace wavetune::db::sqlite
