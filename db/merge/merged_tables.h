// How the rows of each table are told apart when databases are merged.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace wavetune::db {

/// Two rows of equal `key` are one row. When they differ in the other columns (payload), the greater one counts
/// (sqlite::Statement::compare), by the columns of `rank` first, then by the rest in the table's order. That is a
/// maximum over a total order of what the rows say: the order in which databases are merged, and row ids, do not show.
struct MergedTable {
  std::string name;
  std::vector<std::string> key;
  std::map<std::string, std::string> references = {};  ///< column -> table whose row id it holds
  std::vector<std::string> rank = {};
  /// Part of the key that is compared after an index has found the rest.
  std::vector<std::string> compared = {};
};

/// Every table of the current schema, each behind those that it refers to.
std::span<const MergedTable> merged_tables();

}  // namespace wavetune::db
