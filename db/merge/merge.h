// `wavetune merge`: databases of several nodes become one.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "db/merge/merge_rows.h"

namespace wavetune::db {

struct MergeReport {
  std::map<std::string, RowCounts> tables;      ///< over all inputs
  std::vector<std::filesystem::path> left_out;  ///< the output itself, or given twice: there is nothing to add
};

/// Adds everything of `inputs` to `output`, which is made when it is absent. What is there already is not added again,
/// so that the result does not depend on the order of the inputs, on how they are grouped, or on how often one is
/// given.
///
/// All or nothing, whenever the process dies: an existing output changes in one transaction (others that write to it
/// wait meanwhile), a new one is built beside its place and appears complete. Inputs are only read (SQLite may leave
/// its empty -wal and -shm files beside one); one of an older schema is upgraded in a copy. A file that cannot be
/// merged (not_found; bad_data: damaged, or no tuning database; incompatible: newer schema) is found before anything is
/// written, and named.
MergeReport merge_databases(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

}  // namespace wavetune::db
