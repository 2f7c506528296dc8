// The database as one JSON document: transfer/schema.json describes it.
#pragma once

#include <ostream>

#include "db/database.h"

namespace wavetune::db {

/// Version of the document's format. A reader accepts its own version and older ones.
inline constexpr int json_format_version = 1;

/// Writes environments, sources, trials (one a line, in order of creation; or only the winners), layouts and, unless
/// only the winners are asked for, published times. Needs memory for one trial at a time and for all published times.
/// Text that is not UTF-8 (compiler logs) is written with U+FFFD in place of the broken bytes.
void export_json(const Database& database, std::ostream& out, bool only_winners = false);

}  // namespace wavetune::db
