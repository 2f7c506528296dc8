// All or nothing.
#pragma once

#include "db/sqlite/connection.h"

namespace wavetune::db::sqlite {

/// Takes the write lock at once (BEGIN IMMEDIATE), so that a transaction that reads first cannot fail later on a lock
/// that waiting would not have resolved. Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Durable when it returns.
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace wavetune::db::sqlite
