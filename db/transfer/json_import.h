// Reads what json_export wrote.
#pragma once

#include <string>
#include <string_view>

#include "db/database.h"

namespace wavetune::db {

/// Checks the whole document before anything is given back, so that Database::merge never sees half of one. `name` is
/// the file's, for messages. Throws Error: bad_data (not JSON, or a member missing or wrong: "FILE: trials[3].outcome:
/// ..."), incompatible (another format, or a newer version: both numbers).
Contents contents_from_json(std::string_view text, const std::string& name);

}  // namespace wavetune::db
