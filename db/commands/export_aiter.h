// `wavetune export --format aiter`: tuned tables of AITER.
#pragma once

#include <string>

#include "db/database.h"

namespace wavetune {

/// Writes the files of db::aiter_files into `folder`, which is made when it is not there, and says so on standard
/// error. Throws Error usage when `folder` is "-", not_found when there is nothing to write, io.
void export_aiter(const db::Database& database, const std::string& folder);

}  // namespace wavetune
