// `wavetune db gc`: drops what can never win.
#pragma once

#include <cstdint>
#include <filesystem>

#include "db/health/build_knowledge.h"

namespace wavetune::db {

struct GarbageOptions {
  bool dry_run = false;        ///< only counts
  bool keep_failures = false;  ///< failed trials stay: 'tune' does not try their configurations again
};

/// Rows that were dropped or, in a dry run, would be. A trial counts once, for the first reason that it has.
struct GarbageReport {
  std::int64_t unknown_operators = 0;  ///< trials of operators that this program does not have
  std::int64_t stale = 0;              ///< trials of sources that this program's templates no longer are
  std::int64_t superseded = 0;         ///< trials of configurations that have a newer one
  std::int64_t failures = 0;           ///< trials that did not end ok
  std::int64_t offline = 0;            ///< offline trials of other sources or unknown operators
  std::int64_t code = 0;               ///< code objects that belong to no winner
  std::int64_t orphans = 0;            ///< configurations, source hashes, problems, environments that nothing refers to
  std::int64_t kept = 0;               ///< trials that stay
  std::int64_t bytes_before = 0, bytes_after = 0;  ///< of the file with its write-ahead log
  bool compacted = false;  ///< false: too little was free, or others were using the file; the space is used again

  std::int64_t trials() const { return unknown_operators + stale + superseded + failures; }
};

/// Never drops what wins now, an ok trial of current sources that is the newest of its configuration, a verdict, or
/// what another program than `known` describes made current. In many short transactions, each of which leaves a sound
/// database with the same winners, so that it may be killed at any moment and a tuner may write meanwhile. Throws what
/// Database::open throws.
GarbageReport collect_garbage(const std::filesystem::path& path, const GarbageOptions& options,
                              const BuildKnowledge& known);

}  // namespace wavetune::db
