#include "db/verdict.h"

#include <algorithm>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

/// The row ids that a verdict is about.
struct Subject {
  std::int64_t environment = 0, problem = 0, configuration = 0;
};

Subject subject_of(sqlite::Connection& connection, const Verdict& verdict) {
  Subject subject;
  subject.environment = find_environment(connection, verdict.environment);
  if (subject.environment == 0) {
    fail(ErrorKind::usage, "database {}: has no trials on {}; 'wavetune db show' lists its environments",
         connection.path().string(), verdict.environment.device);
  }
  subject.problem = find_problem(connection, verdict.problem);
  if (subject.problem == 0) {
    fail(ErrorKind::usage, "database {}: has no problem {}; 'wavetune db show' lists those with winners",
         connection.path().string(), verdict.problem.key());
  }
  subject.configuration = configuration_id(connection, to_text(verdict.config));
  return subject;
}

/// What became of the configuration with the current sources, when that rules out that it wins.
std::optional<std::string> why_not(sqlite::Connection& connection, const Subject& subject, const std::string& op) {
  sqlite::Statement newest(
      connection,
      "SELECT m.outcome FROM sources s JOIN source_hashes h ON h.hash = s.current_hash "
      "JOIN newest_measurements m ON m.environment_id = ?1 AND m.problem_id = ?2 AND m.source_id = "
      "h.id AND m.configuration_id = ?3 WHERE s.op = ?4");
  newest.bind(subject.environment, subject.problem, subject.configuration, op);
  if (!newest.step()) return "it has no trial with the current sources; 'wavetune tune' must try it first";
  const std::string outcome = newest.text(0);
  if (outcome == to_string(Outcome::ok)) return std::nullopt;
  return fmt::format("its newest trial with the current sources ended with {}", outcome);
}

/// Whether the configuration is pinned or banned now.
bool is_under_verdict(sqlite::Connection& connection, const Subject& subject) {
  sqlite::Statement query(connection,
                          "SELECT 1 FROM verdicts_in_force WHERE environment_id = ?1 AND problem_id = ?2 AND "
                          "configuration_id = ?3");
  return query.bind(subject.environment, subject.problem, subject.configuration).step();
}

/// Later than every verdict on the problem, even where the clock has gone back: their times tell their order, in
/// another database, too.
std::string time_of_next(sqlite::Connection& connection, const Subject& subject) {
  sqlite::Statement newest(
      connection, "SELECT ifnull(max(created_at), '') FROM verdicts WHERE environment_id = ?1 AND problem_id = ?2");
  newest.bind(subject.environment, subject.problem).step();
  return utc_after(newest.text(0));
}

Effect effect_of(VerdictKind kind, bool newest, bool can_win, bool wins) {
  if (kind == VerdictKind::none) return Effect::taken_back;
  if (!newest) return Effect::overruled;
  if (kind == VerdictKind::ban || wins) return Effect::in_force;
  return can_win ? Effect::overruled : Effect::powerless;
}

}  // namespace

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::pin:
      return "pin";
    case VerdictKind::ban:
      return "ban";
    case VerdictKind::none:
      return "none";
  }
  return "unknown";
}

std::optional<VerdictKind> verdict_from_string(std::string_view word) {
  for (const VerdictKind kind : {VerdictKind::pin, VerdictKind::ban, VerdictKind::none}) {
    if (word == to_string(kind)) return kind;
  }
  return std::nullopt;
}

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::in_force:
      return "in force";
    case Effect::overruled:
      return "overruled";
    case Effect::powerless:
      return "no effect";
    case Effect::taken_back:
      return "takes back";
  }
  return "unknown";
}

void insert_verdict(sqlite::Connection& connection, const Verdict& verdict) {
  const std::string what =
      fmt::format("{} of {} for {}", to_string(verdict.kind), to_text(verdict.config), verdict.problem.key());
  if (verdict.reason.empty()) fail(ErrorKind::usage, "{}: has no reason; say why", what);
  const Subject subject = subject_of(connection, verdict);
  if (verdict.kind == VerdictKind::none && !is_under_verdict(connection, subject)) {
    fail(ErrorKind::usage, "{}: it is neither pinned nor banned; 'wavetune db verdicts' lists what is", what);
  }
  if (verdict.kind == VerdictKind::pin) {
    if (const auto reason = why_not(connection, subject, verdict.problem.op)) {
      fail(ErrorKind::usage, "{}: it cannot win: {}", what, *reason);
    }
  }
  const std::string now = verdict.created_at.empty() ? time_of_next(connection, subject) : verdict.created_at;
  sqlite::Statement(connection,
                    "INSERT INTO verdicts (environment_id, problem_id, configuration_id, verdict, reason, created_at) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
      .bind(subject.environment, subject.problem, subject.configuration, to_string(verdict.kind), verdict.reason, now)
      .run();
}

std::vector<StoredVerdict> read_verdicts(sqlite::Connection& connection) {
  sqlite::Statement query(
      connection, fmt::format("SELECT {}, p.op, p.dtype, p.dims, c.text, v.verdict, v.reason, v.created_at, "
                              "v.id IN (SELECT id FROM verdicts_in_force), "
                              "ifnull((SELECT w.configuration = c.text FROM winners w WHERE w.environment_id = e.id "
                              "AND w.problem_id = p.id), 0), e.id, p.id, c.id "
                              "FROM verdicts v JOIN environments e ON e.id = v.environment_id "
                              "JOIN problems p ON p.id = v.problem_id JOIN configurations c ON c.id = "
                              "v.configuration_id ORDER BY v.created_at, v.id",
                              EnvironmentColumns::names));
  std::vector<StoredVerdict> found;
  while (query.step()) {
    constexpr int at = EnvironmentColumns::count;
    StoredVerdict stored;
    stored.verdict.environment = EnvironmentColumns::read(query, 0);
    stored.verdict.problem = {query.text(at), query.text(at + 1), named_ints_from_text(query.text(at + 2))};
    stored.verdict.config = named_ints_from_text(query.text(at + 3));
    const std::string word = query.text(at + 4);
    const auto kind = verdict_from_string(word);
    if (!kind) fail(ErrorKind::bad_data, "a verdict in the database is the unknown word '{}'", word);
    stored.verdict.kind = *kind;
    stored.verdict.reason = query.text(at + 5);
    stored.verdict.created_at = query.text(at + 6);
    const bool newest = query.integer(at + 7) != 0;
    const bool wins = query.integer(at + 8) != 0;
    const Subject subject{query.integer(at + 9), query.integer(at + 10), query.integer(at + 11)};
    const bool can_win = wins || (newest && !why_not(connection, subject, stored.verdict.problem.op));
    stored.effect = effect_of(*kind, newest, can_win, wins);
    found.push_back(std::move(stored));
  }
  return found;
}

std::vector<Config> banned_configurations(sqlite::Connection& connection, const Environment& environment,
                                          const Problem& problem) {
  sqlite::Statement query(connection,
                          "SELECT c.text FROM verdicts_in_force v JOIN configurations c ON c.id = v.configuration_id "
                          "WHERE v.environment_id = ?1 AND v.problem_id = ?2 AND v.verdict = 'ban' ORDER BY v.id");
  query.bind(find_environment(connection, environment), find_problem(connection, problem));
  std::vector<Config> found;
  while (query.step()) found.push_back(named_ints_from_text(query.text(0)));
  return found;
}

}  // namespace wavetune::db
