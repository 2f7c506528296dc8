// From a problem to a kernel that is loaded on a device: database lookup, nearest-shape choice, compile, load.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/database.h"
#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "templates/operator.h"

namespace wavetune::kernels {

/// How well the database answers for a problem.
enum class Match {
  exact,     ///< a winner of exactly this problem
  nearest,   ///< a winner of the same problem at another m (or other growing dimension): next larger, else the closest
  fallback,  ///< nothing: the operator's default configuration
};
std::string_view to_string(Match match);

struct Choice {
  Match match = Match::fallback;
  db::Config config;
  std::string from;  ///< key of the problem whose winner was taken; empty for fallback
};

/// Read-only snapshot of an environment's winners. Thread-safe.
class WinnerIndex {
 public:
  /// `database` may be nullptr: everything falls back.
  WinnerIndex(const db::Database* database, const db::Environment& environment);
  /// The growing dimensions "m", "context" and "slots" may differ for a nearest match; all others must be equal. A config
  /// that the operator's space rejects for `problem` is skipped.
  Choice choose(const db::Problem& problem, const templates::DeviceLimits& limits) const;
  std::size_t size() const { return winners_.size(); }

 private:
  std::vector<db::Winner> winners_;
  std::multimap<std::string, std::size_t> by_family_;  ///< problem key without growing dimensions -> index
};

}  // namespace wavetune::kernels
