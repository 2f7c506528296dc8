// Code objects of winners: a tuned node starts serving without compiling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

/// A compiled configuration. `request_key` names what was compiled (jit::CompileService::key), so that whoever would
/// compile the same finds it.
struct WinnerCode {
  Config config;
  std::string request_key;
  std::span<const std::byte> code;
};

/// Rows of the tables code_objects (by content, deflated) and trial_code, as the functions of rows.h.
///
/// Stores the code of `problem`'s winner and drops what its former winners had. False, and nothing stored, when another
/// configuration wins. Inside a transaction.
bool put_winner_code(sqlite::Connection& connection, const Environment& environment, const Problem& problem,
                     const WinnerCode& winner);
/// The key that the winner's stored code was compiled under; nothing when none is stored.
std::optional<std::string> winner_code_key(sqlite::Connection& connection, const Environment& environment,
                                           const Problem& problem);
/// The code compiled under a key; nothing when there is none or it is damaged: it can be compiled again.
std::optional<std::vector<std::byte>> find_code(sqlite::Connection& connection, std::string_view request_key);

struct CodeTotals {
  std::int64_t objects = 0;
  std::int64_t bytes = 0;  ///< as stored
};
CodeTotals code_totals(sqlite::Connection& connection);

}  // namespace wavetune::db
