#include "db/sqlite/statement.h"

#include <cstring>
#include <utility>

namespace wavetune::db::sqlite {

Statement::Statement(Connection& connection, std::string_view sql)
    : connection_(connection), sql_(sql), handle_(connection.take_prepared(sql)) {
  if (handle_) return;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(connection.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  handle_.reset(raw);
  check(code);
}

Statement::~Statement() {
  // The code is that of the last step, which has been reported.
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
  connection_.keep_prepared(std::move(sql_), std::move(handle_));
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_.fail_with(code);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { check(sqlite3_reset(handle_.get())); }

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  if (bytes == nullptr) return {};
  return std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column)));
}

std::optional<int> Statement::optional_integer(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_int(handle_.get(), column);
}

std::span<const std::byte> Statement::bytes(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(handle_.get(), column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

std::weak_ordering Statement::compare(int column, const Statement& other, int other_column) const {
  enum class Kind { null, number, text };
  const auto kind_of = [](int type) {
    return type == SQLITE_NULL                              ? Kind::null
           : type == SQLITE_INTEGER || type == SQLITE_FLOAT ? Kind::number
                                                            : Kind::text;
  };
  const Kind kind = kind_of(sqlite3_column_type(handle_.get(), column));
  const Kind other_kind = kind_of(sqlite3_column_type(other.handle_.get(), other_column));
  if (kind != other_kind) return kind <=> other_kind;
  switch (kind) {
    case Kind::null:
      return std::weak_ordering::equivalent;
    case Kind::number: {
      const double value = real(column);
      const double other_value = other.real(other_column);
      return value < other_value   ? std::weak_ordering::less
             : value > other_value ? std::weak_ordering::greater
                                   : std::weak_ordering::equivalent;
    }
    case Kind::text:
      break;
  }
  const std::span<const std::byte> value = bytes(column);
  const std::span<const std::byte> other_value = other.bytes(other_column);
  if (value.size() != other_value.size()) return value.size() <=> other_value.size();
  const int sign = value.empty() ? 0 : std::memcmp(value.data(), other_value.data(), value.size());
  return sign <=> 0;
}

void Statement::bind_column(int index, const Statement& row, int column) {
  check(sqlite3_bind_value(handle_.get(), index, sqlite3_column_value(row.handle_.get(), column)));
}

void Statement::bind_one(int index, std::int64_t value) { check(sqlite3_bind_int64(handle_.get(), index, value)); }

void Statement::bind_one(int index, double value) { check(sqlite3_bind_double(handle_.get(), index, value)); }

void Statement::bind_one(int index, std::string_view value) {
  // A null pointer would bind NULL: an empty view need not point anywhere.
  const char* bytes = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(handle_.get(), index, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_one(int index, std::span<const std::byte> value) {
  // A null pointer would bind NULL here too.
  const void* bytes = value.data() == nullptr ? static_cast<const void*>("") : value.data();
  check(sqlite3_bind_blob64(handle_.get(), index, bytes, value.size(), SQLITE_TRANSIENT));
}

void Statement::bind_one(int index, const std::optional<int>& value) {
  check(value ? sqlite3_bind_int(handle_.get(), index, *value) : sqlite3_bind_null(handle_.get(), index));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_.fail_with(code);
}

}  // namespace wavetune::db::sqlite
