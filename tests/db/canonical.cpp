#include "canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "db/base/error.h"
#include "db/database.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

const std::map<std::string, std::string> texts_of_ids = {
    {"environment_id",
     "(SELECT e.device||'|'||e.arch||'|'||e.cu_count||'|'||e.driver||'|'||e.compiler||'|'||e.compiler_version "
     "FROM environments e WHERE e.id = t.environment_id)"},
    {"problem_id", "(SELECT p.op||'/'||p.dtype||'/'||p.dims FROM problems p WHERE p.id = t.problem_id)"},
    {"configuration_id", "(SELECT c.text FROM configurations c WHERE c.id = t.configuration_id)"},
    {"source_id", "(SELECT h.hash FROM source_hashes h WHERE h.id = t.source_id)"},
    {"trial_id",
     "(SELECT e.device||'|'||e.compiler_version||' '||p.op||'/'||p.dims||' '||b.configuration||' '||b.source_hash||' "
     "'||"
     "b.created_at||' '||b.machine||' '||b.outcome||' '||b.median_us FROM trials b "
     "JOIN environments e ON e.id = b.environment_id JOIN problems p ON p.id = b.problem_id WHERE b.id = t.trial_id)"}};

std::vector<std::string> column(sqlite::Connection& connection, const std::string& sql) {
  sqlite::Statement query(connection, sql);
  std::vector<std::string> found;
  while (query.step()) found.push_back(query.text(0));
  return found;
}

std::string row_text(sqlite::Connection& connection, const std::string& table) {
  std::string text = fmt::format("'{}'", table);
  for (const std::string& name :
       column(connection,
              fmt::format("SELECT name FROM pragma_table_info('{}') WHERE name <> 'id' ORDER BY cid", table))) {
    const auto id = texts_of_ids.find(name);
    text += fmt::format(
        " || '; {}=' || {}", name,
        id != texts_of_ids.end() ? fmt::format("ifnull({}, 'MISSING')", id->second) : fmt::format("quote(t.{})", name));
  }
  return text;
}

std::vector<std::string> queries_of(sqlite::Connection& connection) {
  std::vector<std::string> queries;
  for (const std::string& table : column(connection,
                                         "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT "
                                         "LIKE 'sqlite_%'")) {
    queries.push_back(fmt::format("SELECT {} FROM {} t", row_text(connection, table), table));
  }
  return queries;
}

}  // namespace

std::vector<std::string> canonical_contents(const std::filesystem::path& path) {
  sqlite::Connection connection(path, sqlite::Access::read_only);
  return canonical_contents(connection);
}

std::vector<std::string> canonical_contents(sqlite::Connection& connection) {
  static const std::vector<std::string> queries = queries_of(connection);  // all have the same schema
  std::vector<std::string> lines;
  for (const std::string& query : queries) {
    for (std::string& line : column(connection, query)) lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> canonical_answers(const std::filesystem::path& path) {
  const auto database = Database::open(path, OpenMode::read_only);
  std::vector<std::string> lines;
  for (const StoredWinner& stored : database.all_winners()) {
    const Winner& winner = stored.winner;
    const auto key = database.winner_code_key(stored.environment, winner.problem);
    lines.push_back(fmt::format("winner {} {}: {} {} {} code {}", stored.environment.compiler_version,
                                winner.problem.key(), to_text(winner.config), winner.median_us, winner.source_hash,
                                key.value_or("-")));
  }
  for (const Environment& environment : database.environments()) {
    for (const auto& [other, layout] : database.layouts()) {
      const auto newest = database.latest_layout(environment, layout.model_id, layout.devices);
      if (!newest) continue;
      lines.push_back(fmt::format("layout {} {}: {} TP {} DP {}", environment.compiler_version, layout.model_id,
                                  to_string(newest->objective), newest->tp, newest->dp));
    }
    for (const OfflineTrial& offline : database.offline_trials(environment)) {
      std::string shortlist;
      for (const OfflineTrial& one : database.shortlist(environment, offline.problem, offline.source_hash, 3))
        shortlist += " " + to_text(one.config);
      lines.push_back("shortlist " + offline.problem.key() + shortlist);
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

}  // namespace wavetune::db
