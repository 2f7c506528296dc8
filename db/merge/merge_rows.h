// The rows of one database into another one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "db/sqlite/connection.h"

namespace wavetune::db {

struct RowCounts {
  std::int64_t added = 0;
  std::int64_t known = 0;     ///< were there already
  std::int64_t replaced = 0;  ///< were there and say more now

  RowCounts& operator+=(const RowCounts& more);
};

/// Adds the rows of all tables of `from` that `into` does not have, as merged_tables.h tells them apart, in order of
/// their ids; counts by table. Both have the current schema; inside a transaction of `into`. Throws the Error of the
/// connection that fails, which names its file.
std::map<std::string, RowCounts> merge_rows(sqlite::Connection& from, sqlite::Connection& into);

}  // namespace wavetune::db
