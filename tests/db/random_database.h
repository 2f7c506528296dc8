// Small databases that overlap: drawn from few values, so that rows meet as equals, as conflicts and as ties.
#pragma once

#include <random>

#include "db/sqlite/connection.h"

namespace wavetune::db {

/// Adds a handful of rows to each table of an empty database of the current schema.
void fill_randomly(sqlite::Connection& connection, std::mt19937& random);

}  // namespace wavetune::db
