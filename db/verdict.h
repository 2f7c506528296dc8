// What a person decided about a configuration, against or beside what was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/connection.h"
#include "db/trial.h"

namespace wavetune::db {

enum class VerdictKind {
  pin,   ///< it wins, whatever is faster, while it has an ok trial of the current sources
  ban,   ///< it never wins
  none,  ///< takes either back
};
std::string_view to_string(VerdictKind kind);
/// Inverse of to_string; nothing for an unknown word.
std::optional<VerdictKind> verdict_from_string(std::string_view word);

/// Of a configuration the newest verdict counts; of several pins of one problem the newest. None is ever deleted.
struct Verdict {
  Environment environment;
  Problem problem;
  Config config;
  VerdictKind kind = VerdictKind::none;
  std::string reason;
  std::string created_at;  ///< ISO 8601 UTC; filled by insert_verdict when empty
};

/// What a verdict does now.
enum class Effect {
  in_force,    ///< a pin that wins, a ban
  overruled,   ///< a newer verdict on the same configuration, or a newer pin of the problem that can win
  powerless,   ///< a pin without an ok trial of the current sources: another configuration wins
  taken_back,  ///< the row is itself a "none"
};
std::string_view to_string(Effect effect);

struct StoredVerdict {
  Verdict verdict;
  Effect effect = Effect::in_force;
};

/// Rows of table verdicts, as the functions of rows.h.
///
/// Inside a transaction. Newer than every verdict on this problem, whatever the clock says. Throws Error usage,
/// and stores nothing: no reason; an environment or a problem that the database does not have; a pin that could not
/// win; a "none" where there is nothing to take back.
void insert_verdict(sqlite::Connection& connection, const Verdict& verdict);
/// In the order in which they were made.
std::vector<StoredVerdict> read_verdicts(sqlite::Connection& connection);
std::vector<Config> banned_configurations(sqlite::Connection& connection, const Environment& environment,
                                          const Problem& problem);

}  // namespace wavetune::db
