#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "db/base/error.h"
#include "db/health/checks.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

/// The numbers in "7.2.26015-fc0010cf": {7, 2, 26015, ...}, for telling which version is newer.
std::vector<long> numbers_in(std::string_view text) {
  std::vector<long> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    long value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc{} && value >= 0) numbers.push_back(value);
    at = error == std::errc{} ? next : at + 1;
  }
  return numbers;
}

void find_stale_trials(sqlite::Connection& connection, const BuildKnowledge& known, std::vector<Finding>& findings) {
  sqlite::Statement query(connection,
                          "SELECT p.op, h.hash, count(*), ifnull(s.current_hash, '') FROM measurements m "
                          "JOIN problems p ON p.id = m.problem_id JOIN source_hashes h ON h.id = m.source_id "
                          "LEFT JOIN sources s ON s.op = p.op GROUP BY p.op, h.hash, s.current_hash ORDER BY p.op");
  struct Sources {
    std::int64_t stale = 0;
    std::set<std::string> others;
    bool winning = false;  ///< the database calls sources current that this program does not have
    std::string current;
  };
  std::map<std::string, Sources> by_op;
  while (query.step()) {
    const std::string op = query.text(0);
    const std::string hash = query.text(1);
    const std::string recorded = query.text(3);
    const OperatorStanding standing = known.standing_of(op);
    if (standing.standing == Standing::unknown) continue;
    const std::string current = standing.standing == Standing::built_in ? standing.source_hash : recorded;
    if (current.empty() || hash == current) continue;
    Sources& sources = by_op[op];
    sources.stale += query.integer(2);
    sources.others.insert(hash);
    sources.current = current;
    sources.winning = sources.winning || hash == recorded;
  }
  for (const auto& [op, sources] : by_op) {
    findings.push_back(
        {Severity::stale, "trials of " + op, sources.stale,
         fmt::format(
             "made with {} other version{} of its sources ({}{}); now they are {}{}", sources.others.size(),
             sources.others.size() == 1 ? "" : "s", sources.others.begin()->substr(0, 12),
             sources.others.size() == 1 ? "" : ", ...", sources.current.substr(0, 12),
             sources.winning ? ", which nothing was tuned with since: its winners are those of the old sources" : ""),
         sources.winning ? "'wavetune tune' measures with the new sources; then 'wavetune db gc' drops these"
                         : "'wavetune db gc' drops them"});
  }
}

/// Environments of an architecture for which there is one with a newer version of the same compiler.
void find_stale_environments(sqlite::Connection& connection, std::vector<Finding>& findings) {
  struct Used {
    Environment environment;
    std::int64_t trials = 0;
  };
  std::vector<Used> all;
  sqlite::Statement query(connection,
                          fmt::format("SELECT {}, (SELECT count(*) FROM measurements m WHERE m.environment_id = e.id) "
                                      "FROM environments e ORDER BY e.id",
                                      EnvironmentColumns::names));
  while (query.step()) {
    const std::int64_t trials = query.integer(EnvironmentColumns::count);
    if (trials > 0) all.push_back({EnvironmentColumns::read(query, 0), trials});
  }
  for (const Used& old : all) {
    const auto newer = std::find_if(all.begin(), all.end(), [&old](const Used& other) {
      return other.environment.arch == old.environment.arch && other.environment.compiler == old.environment.compiler &&
             numbers_in(other.environment.compiler_version) > numbers_in(old.environment.compiler_version);
    });
    if (newer == all.end()) continue;
    findings.push_back({Severity::stale, "trials of compiler " + old.environment.compiler_version, old.trials,
                        fmt::format("{} ({}) has trials with {} {}, too; these win only where that old version runs",
                                    newer->environment.device, newer->environment.arch, newer->environment.compiler,
                                    newer->environment.compiler_version),
                        "nothing, while nodes with the old version are in use"});
  }
}

void find_stale_offline_trials(sqlite::Connection& connection, const BuildKnowledge& known,
                               std::vector<Finding>& findings) {
  sqlite::Statement query(connection,
                          "SELECT p.op, o.source_hash, count(*) FROM offline_trials o JOIN problems p ON p.id = "
                          "o.problem_id GROUP BY p.op, o.source_hash");
  std::map<std::string, std::int64_t> stale;
  while (query.step()) {
    const OperatorStanding standing = known.standing_of(query.text(0));
    if (standing.standing != Standing::built_in || query.text(1) == standing.source_hash) continue;
    stale[query.text(0)] += query.integer(2);
  }
  for (const auto& [op, count] : stale) {
    findings.push_back({Severity::stale, "offline trials of " + op, count,
                        "compiled from other sources than those of now", "'wavetune db gc' drops them"});
  }
}

}  // namespace

void find_stale_rows(sqlite::Connection& connection, const BuildKnowledge& known, std::vector<Finding>& findings) {
  find_stale_trials(connection, known, findings);
  find_stale_environments(connection, findings);
  find_stale_offline_trials(connection, known, findings);
}

}  // namespace wavetune::db
