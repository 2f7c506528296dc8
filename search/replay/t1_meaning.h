// What `wavetune export --format t4 --space T1.json` needs to write a spec's own values.
#pragma once

#include <string>

#include "db/transfer/t4_export.h"

namespace wavetune {

/// A database has integers: for parameters of other types these are places in the T1 file's list of values. Throws what
/// read_t1 throws; the meaning throws Error bad_data for a parameter or a value that the file does not have.
db::ValueMeaning t1_meaning(const std::string& t1_path);

}  // namespace wavetune
