// `wavetune export --format t4`: recordings that `wavetune replay` and other tools read.
#pragma once

#include <string>

#include "db/database.h"
#include "db/transfer/t4_export.h"

namespace wavetune {

struct T4Request {
  std::string output;   ///< "-", a file, or a folder (one that exists, or with a '/' at the end)
  std::string problem;  ///< as db::recorded takes it
  std::string space;    ///< the T1 file that the problem was tuned from; empty: there is none, one is written
};

/// To "-" or a file goes one recording: Error usage when more are selected, naming some. A folder gets them all. Beside
/// each T4 file goes its T1 file, unless `space` is given. Says on standard error what was written. Files whose name
/// ends in .gz are gzip, and so are those in a folder. Throws Error not_found when nothing is selected.
void export_t4(const db::Database& database, const T4Request& request, const db::ValueMeaning& meaning);

}  // namespace wavetune
