// The parts of verify(): each adds what it finds.
#pragma once

#include <vector>

#include "db/health/verify.h"
#include "db/sqlite/connection.h"

namespace wavetune::db {

/// What to do about a corrupt database.
inline constexpr const char* restore = "restore a copy, or import an export of it into a new database";

/// Rows whose values nobody can have written: unknown words, samples that are not numbers, ok trials without a time.
void find_unreadable_rows(sqlite::Connection& connection, std::vector<Finding>& findings);
/// Trials, winners, environments and offline trials that newer ones or other sources have overtaken.
void find_stale_rows(sqlite::Connection& connection, const BuildKnowledge& known, std::vector<Finding>& findings);
/// Trials, verdicts, code objects and layouts that nothing leads to.
void find_unreachable_rows(sqlite::Connection& connection, const BuildKnowledge& known, std::vector<Finding>& findings);

}  // namespace wavetune::db
