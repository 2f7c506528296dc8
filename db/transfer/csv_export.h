// The trials as a table for spreadsheets and data frames.
#pragma once

#include <ostream>

#include "db/database.h"

namespace wavetune::db {

/// RFC 4180 with a header line and \n line ends: one row a trial in order of creation; `winner` is 1 for those that win
/// now. Absent values are empty.
void export_csv(const Database& database, std::ostream& out);

}  // namespace wavetune::db
