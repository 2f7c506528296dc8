#include "db/sqlite/transaction.h"

namespace wavetune::db::sqlite {

Transaction::Transaction(Connection& connection) : connection_(connection) { connection_.execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  // A failed rollback leaves nothing to do: SQLite rolls back by itself when the connection closes.
  if (open_) sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace wavetune::db::sqlite
