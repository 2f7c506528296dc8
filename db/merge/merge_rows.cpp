#include "db/merge/merge_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "db/base/error.h"
#include "db/merge/merged_tables.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

/// Row ids of `from` -> row ids of `into`.
using RowIds = std::unordered_map<std::int64_t, std::int64_t>;

/// Columns of a table, but for a row id of its own.
std::vector<std::string> columns_of(sqlite::Connection& connection, const std::string& table) {
  sqlite::Statement query(connection, "SELECT name FROM pragma_table_info(?1) WHERE name <> 'id' ORDER BY cid");
  query.bind(table);
  std::vector<std::string> columns;
  while (query.step()) columns.push_back(query.text(0));
  return columns;
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// "a = ?1, b = ?2"
std::string assignments(const std::vector<std::string>& columns, std::string_view separator, std::size_t first) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += fmt::format("{}{} = ?{}", i == 0 ? std::string_view() : separator, columns[i], first + i);
  }
  return text;
}

/// "a = ?1 AND +b = ?2": SQLite looks for no index for an expression with a plus.
std::string condition(const MergedTable& table) {
  std::vector<std::string> terms = table.key;
  for (std::string& term : terms) {
    if (contains(table.compared, term)) term.insert(0, "+");
  }
  return assignments(terms, " AND ", 1);
}

std::string numbers_up_to(std::size_t count) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i) text += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return text;
}

/// The columns in the order in which they are read everywhere here: key, then payload by rank.
struct Columns {
  Columns(sqlite::Connection& connection, const MergedTable& table) : key(table.key), payload(table.rank) {
    for (std::string& column : columns_of(connection, table.name)) {
      if (!contains(key, column) && !contains(payload, column)) payload.push_back(std::move(column));
    }
    all = key;
    all.insert(all.end(), payload.begin(), payload.end());
  }

  std::vector<std::string> key, payload, all;
};

class TableMerge {
 public:
  TableMerge(sqlite::Connection& from, sqlite::Connection& into, const MergedTable& table,
             const std::map<std::string, RowIds>& ids)
      : columns_(into, table),
        row_(from, fmt::format("SELECT rowid, {} FROM {} ORDER BY rowid", fmt::join(columns_.all, ", "), table.name)),
        find_(into, fmt::format("SELECT {} FROM {} WHERE {}", fmt::join(with_row_id(columns_.payload), ", "),
                                table.name, condition(table))),
        insert_(into, fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, fmt::join(columns_.all, ", "),
                                  numbers_up_to(columns_.all.size()))),
        update_(into, columns_.payload.empty() ? "SELECT 1"  // nothing can differ
                                               : fmt::format("UPDATE {} SET {} WHERE rowid = ?1", table.name,
                                                             assignments(columns_.payload, ", ", 2))),
        into_(into),
        from_(from),
        table_(table) {
    for (const std::string& column : columns_.all) {
      const auto reference = table.references.find(column);
      ids_.push_back(reference == table.references.end() ? nullptr : &ids.at(reference->second));
    }
  }

  RowCounts run(RowIds& merged) {
    RowCounts counts;
    while (row_.step()) {
      bind(find_, 1, 0, columns_.key.size());
      std::int64_t id = 0;
      if (find_.step()) {
        id = find_.integer(0);
        ++counts.known;
        if (says_more()) {
          find_.reset();
          update_.bind(id);
          bind(update_, 2, columns_.key.size(), columns_.payload.size());
          update_.run();
          ++counts.replaced;
        }
      } else {
        bind(insert_, 1, 0, columns_.all.size());
        insert_.run();
        id = sqlite3_last_insert_rowid(into_.get());
        ++counts.added;
      }
      find_.reset();
      merged.emplace(row_.integer(0), id);
    }
    return counts;
  }

 private:
  static std::vector<std::string> with_row_id(const std::vector<std::string>& payload) {
    std::vector<std::string> columns{"rowid"};
    columns.insert(columns.end(), payload.begin(), payload.end());
    return columns;
  }

  /// Columns first, first + 1, ... of the row to ?index, ...
  void bind(sqlite::Statement& statement, int index, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i, ++index) {
      const int column = static_cast<int>(i) + 1;
      if (ids_[i] == nullptr) {
        statement.bind_column(index, row_, column);
        continue;
      }
      const auto found = ids_[i]->find(row_.integer(column));
      if (found == ids_[i]->end()) {
        fail(ErrorKind::bad_data,
             "database {}: row {} of table {} refers to a row of {} that is not there; restore a "
             "copy or an export",
             from_.path().string(), row_.integer(0), table_.name, columns_.all[i]);
      }
      statement.bind_at(index, found->second);
    }
  }

  /// The row that is there against the new one. Ids of other rows mean nothing across databases.
  bool says_more() const {
    for (std::size_t i = 0; i < columns_.payload.size(); ++i) {
      const std::size_t column = columns_.key.size() + i;
      if (ids_[column] != nullptr) continue;
      const auto order = row_.compare(static_cast<int>(column) + 1, find_, static_cast<int>(i) + 1);
      if (order != 0) return order > 0;
    }
    return false;
  }

  Columns columns_;
  sqlite::Statement row_, find_, insert_, update_;
  sqlite::Connection& into_;
  sqlite::Connection& from_;
  const MergedTable& table_;
  std::vector<const RowIds*> ids_;  ///< for each column that refers to another table
};

}  // namespace

RowCounts& RowCounts::operator+=(const RowCounts& more) {
  added += more.added;
  known += more.known;
  replaced += more.replaced;
  return *this;
}

std::map<std::string, RowCounts> merge_rows(sqlite::Connection& from, sqlite::Connection& into) {
  std::map<std::string, RowCounts> counts;
  std::map<std::string, RowIds> ids;
  for (const MergedTable& table : merged_tables()) {
    RowIds merged;
    if (sqlite::Statement(from, fmt::format("SELECT 1 FROM {} LIMIT 1", table.name)).step())
      counts[table.name] = TableMerge(from, into, table, ids).run(merged);
    ids[table.name] = std::move(merged);
  }
  return counts;
}

}  // namespace wavetune::db
