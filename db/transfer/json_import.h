// Reads what json_export wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"

namespace wavetune::db {

struct ImportedDocument {
  Contents contents;
  std::vector<PublishedTime> published;
};

/// Checks the whole document before anything is given back, so that Database::merge never sees half of one. `name` is
/// the file's, for messages. Throws Error: bad_data (not JSON, or a member missing or wrong: "FILE: trials[3].outcome:
/// ..."), incompatible (another format, or a newer version: both numbers).
ImportedDocument document_from_json(std::string_view text, const std::string& name);
/// Same, without the published times.
Contents contents_from_json(std::string_view text, const std::string& name);

}  // namespace wavetune::db
