// What was learned with other sources: the templates have changed since, and the times no longer count, but what was
// fast then is the best guess at what is fast now.
#pragma once

#include <string_view>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

/// The `most` fastest configurations of `problem` in this environment with other sources than `source_hash`, fastest
/// first.
std::vector<Config> read_earlier_best(sqlite::Connection& connection, const Environment& environment,
                                      const Problem& problem, std::string_view source_hash, int most);

}  // namespace wavetune::db
