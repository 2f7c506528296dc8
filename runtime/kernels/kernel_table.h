// From a problem to the configuration that it runs with: database lookup and nearest-shape choice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "templates/operator.h"

namespace wavetune::kernels {

/// How well the database answers for a problem.
enum class Match {
  exact,     ///< a winner of this very work (cache and table capacities may differ: they do not change it)
  nearest,   ///< a winner of the same problem at another m, context or rows: next larger m, else the closest
  fallback,  ///< nothing: the operator's default configuration
};
std::string_view to_string(Match match);

struct Choice {
  Match match = Match::fallback;
  db::Config config;
  std::string from;  ///< key of the problem whose winner was taken; empty for fallback
};

/// Read-only snapshot of an environment's winners that were made with this executable's templates. Thread-safe.
class WinnerIndex {
 public:
  /// `database` may be nullptr: everything falls back.
  WinnerIndex(const db::Database* database, const db::Environment& environment);
  /// The dimensions of work "m", "context" and "rows" and the capacities "slots", "sequences" and "pages" may differ;
  /// all others must be equal. A config that the operator's space rejects for `problem` is skipped.
  Choice choose(const db::Problem& problem, const templates::DeviceLimits& limits) const;
  std::size_t size() const { return winners_.size(); }

 private:
  std::vector<db::Winner> winners_;
  std::multimap<std::string, std::size_t>
      by_family_;  ///< problem key with only the dimensions that must be equal -> index
};

}  // namespace wavetune::kernels
