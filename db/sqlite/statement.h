// One prepared statement: bind by position, step, read columns.
#pragma once

#include <sqlite3.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "db/sqlite/connection.h"

namespace wavetune::db::sqlite {

/// Must not outlive its connection. Every method throws the connection's Error on failure.
class Statement {
 public:
  /// Takes the one that was prepared before, when one of this text is idle.
  Statement(Connection& connection, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds the values to ?1, ?2, ... in order.
  template <class... Values>
  Statement& bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }

  /// Binds to ?index what another statement's row holds in a column, whatever its type. That statement may be of
  /// another database.
  void bind_column(int index, const Statement& row, int column);
  void bind_at(int index, std::int64_t value) { bind_one(index, value); }

  /// Goes to the next row: false when there is none.
  bool step();
  /// Runs a statement that gives no rows, and makes it ready to be bound again.
  void run();
  /// Ready to be bound and stepped again.
  void reset();

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  std::string text(int column) const;
  bool is_blob(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_BLOB; }
  std::optional<int> optional_integer(int column) const;
  /// A blob; valid until the next step().
  std::span<const std::byte> bytes(int column) const;
  /// A total order over the values of all columns, that does not depend on the database: NULL, numbers by size, texts
  /// and blobs by length, then by bytes.
  std::weak_ordering compare(int column, const Statement& other, int other_column) const;

 private:
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, static_cast<std::int64_t>(value)); }
  void bind_one(int index, double value);
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, const std::optional<int>& value);
  void bind_one(int index, std::span<const std::byte> value);
  void check(int code) const;

  Connection& connection_;
  std::string sql_;
  Connection::Prepared handle_;
};

}  // namespace wavetune::db::sqlite
