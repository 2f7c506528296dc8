// Times that other stacks publish for their kernels: what our winners are compared with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/problem.h"
#include "db/sqlite/connection.h"

namespace wavetune::db {

/// A row of another stack's tuned table: what its kernel takes for a problem. Never a candidate for a winner.
struct PublishedTime {
  std::string implementation;  ///< "aiter"
  std::string arch;            ///< "gfx950"
  int cu_count = 0;
  Problem problem;
  double us = 0;
  std::string kernel;      ///< the implementation's name of it; both stages' for a fused MoE, joined by " + "
  std::string header;      ///< first line of the table
  std::string line;        ///< the row as it was
  std::string origin;      ///< file name (no folder)
  std::string created_at;  ///< ISO 8601 UTC; filled when stored empty

  bool operator==(const PublishedTime&) const = default;
};

struct PublishCounts {
  std::int64_t added = 0;
  std::int64_t known = 0;  ///< there already: same implementation, header and line
};

/// Rows of table published_times, as the functions of rows.h.
///
/// Adds the rows that are not known yet. Inside a transaction. Throws Error internal for a time that is not positive
/// and finite.
PublishCounts add_published(sqlite::Connection& connection, std::span<const PublishedTime> rows);
/// In the order in which they were added; of one architecture and number of compute units when these are given.
std::vector<PublishedTime> read_published(sqlite::Connection& connection, std::string_view arch, int cu_count);

}  // namespace wavetune::db
