// The database's share of AITER's tuned tables, as files.
#pragma once

#include <string>
#include <vector>

#include "db/database.h"

namespace wavetune::db {

struct AiterFile {
  std::string name;  ///< without folder; no two are equal
  std::string text;
  std::size_t rows = 0;
};

struct AiterFiles {
  std::vector<AiterFile> published;  ///< tables as they were imported, without the rows that could not be read
  std::vector<AiterFile> own;        ///< "wavetune_<table>.csv": our winners (aiter_winners.h)
  std::size_t left_out = 0;          ///< winners that no table has columns for
};

/// Of each file that was imported comes one file of the same name, with the same bytes in the rows; of files with one
/// name but other columns the second gets the name "name-2.csv". A row that came in two files is in the first alone.
AiterFiles aiter_files(const Database& database);

}  // namespace wavetune::db
