// From a problem to the configuration that it runs with: database lookup and nearest-shape choice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "templates/operator.h"

namespace wavetune::kernels {

/// How well the database answers for a problem.
enum class Match {
  exact,     ///< a winner of this very work (cache and table capacities may differ: they do not change it)
  bucket,    ///< a winner of the shape that the problem's step is rounded up to (kernels::lookup_shape)
  nearest,   ///< a winner of the same problem at another m, context or rows: next larger m, else the closest
  fallback,  ///< nothing: the operator's default configuration
};
inline constexpr Match all_matches[] = {Match::exact, Match::bucket, Match::nearest, Match::fallback};
std::string_view to_string(Match match);

struct Choice {
  Match match = Match::fallback;  ///< for the problem that it was chosen for: never bucket
  db::Config config;
  std::string from;  ///< key of the problem whose winner was taken; empty for fallback
};

/// How well a choice answers for `problem`, which runs with it although it was chosen for a larger one: the step's
/// shape rounded up. Rounding may land beside a winner of the problem itself, which then counts as exact.
Match match_of(const Choice& choice, const db::Problem& problem);

/// The order in memory that each operand of a problem has; nothing where any will do. Weights lie in one order for all
/// m.
using Orders = std::vector<std::optional<templates::Arrangement>>;

/// The problem without its dimensions of work and capacity: what shares weights and compiled kernels.
std::string family_key(const db::Problem& problem);

/// Snapshot of an environment's winners that were made with this executable's templates. Thread-safe but for
/// set_orders().
class WinnerIndex {
 public:
  /// `database` may be nullptr: everything falls back.
  WinnerIndex(const db::Database* database, const db::Environment& environment);
  /// Of winners from elsewhere, whatever sources they were made with.
  explicit WinnerIndex(std::vector<db::Winner> winners);
  /// The dimensions of work "m", "context" and "rows" and the capacities "slots", "sequences" and "pages" may differ;
  /// all others must be equal. A config that the operator's space rejects for `problem`, or that reads an operand in
  /// another order than the one set for its family, is skipped.
  Choice choose(const db::Problem& problem, const templates::DeviceLimits& limits) const;
  /// Winners that could serve `problem`, those at the nearest m first: up to `each_side` at its own or a larger m, then
  /// up to as many at a smaller one. The first is what choose() takes. Of several with one configuration, the nearest.
  std::vector<Choice> neighbours(const db::Problem& problem, const templates::DeviceLimits& limits,
                                 std::size_t each_side) const;
  /// Says how the weights of a problem's family lie: from then on only what reads them so is chosen.
  void set_orders(const db::Problem& problem, Orders orders);
  /// The orders that most winners of the problem's family read their weights in, of those that can be read at any m.
  /// `weights` tells which operands are weights, and of those which may be moved; the others stay in rows. Without
  /// winners: what the default configuration reads.
  enum class Moves { not_a_weight, stays, may_move };
  Orders preferred_orders(const db::Problem& problem, const templates::DeviceLimits& limits,
                          const std::vector<Moves>& weights) const;
  std::size_t size() const { return winners_.size(); }
  const std::vector<db::Winner>& winners() const { return winners_; }

 private:
  std::vector<db::Winner> winners_;
  std::multimap<std::string, std::size_t>
      by_family_;                         ///< problem key with only the dimensions that must be equal -> index
  std::map<std::string, Orders> orders_;  ///< by family_key
};

}  // namespace wavetune::kernels
