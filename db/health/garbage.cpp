#include "db/health/garbage.h"

#include <string>
#include <vector>

#include "db/base/error.h"
#include "db/schema.h"
#include "db/sqlite/journal.h"
#include "db/sqlite/page_checksum.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/transaction.h"

namespace wavetune::db {
namespace {

// So many rows are deleted in a second or so, for which writers wait.
constexpr std::int64_t batch = 20'000;
// Below this free share of the file or of its trials, writing it anew takes more than it gives.
constexpr double worth_compacting = 0.05;

std::int64_t number_of(sqlite::Connection& connection, const std::string& sql) {
  sqlite::Statement query(connection, sql);
  return query.step() ? query.integer(0) : 0;
}

std::int64_t changed(sqlite::Connection& connection, const std::string& sql) {
  connection.execute(sql);
  return sqlite3_changes64(connection.get());
}

std::int64_t size_of(const std::filesystem::path& path) {
  std::int64_t size = 0;
  for (const std::string& name : {path.string(), path.string() + "-wal"}) {
    std::error_code absent;
    const auto bytes = std::filesystem::file_size(name, absent);
    if (!absent) size += static_cast<std::int64_t>(bytes);
  }
  return size;
}

/// Temporary table `standing`: of each operator the sources that count; NULL: nothing of it does.
void list_standings(sqlite::Connection& connection, const BuildKnowledge& known) {
  connection.execute(
      "CREATE TEMP TABLE standing (op TEXT PRIMARY KEY, known INTEGER NOT NULL, hash TEXT) WITHOUT ROWID");
  std::vector<std::string> ops;
  {
    sqlite::Statement query(connection, "SELECT DISTINCT op FROM problems");
    while (query.step()) ops.push_back(query.text(0));
  }
  for (const std::string& op : ops) {
    const OperatorStanding standing = known.standing_of(op);
    if (standing.standing == Standing::built_in) {
      sqlite::Statement(connection, "INSERT INTO standing VALUES (?1, 1, ?2)").bind(op, standing.source_hash).run();
    } else if (standing.standing == Standing::outside) {
      // An operator without a current hash is one that nobody has tuned here: all of its sources may become current.
      sqlite::Statement(connection,
                        "INSERT INTO standing VALUES (?1, 1, (SELECT current_hash FROM sources WHERE op = ?1))")
          .bind(op)
          .run();
    } else {
      sqlite::Statement(connection, "INSERT INTO standing VALUES (?1, 0, NULL)").bind(op).run();
    }
  }
}

enum Reason { unknown_operator = 1, stale = 2, superseded = 3, failure = 4 };

/// Temporary table `doomed`: trials to drop, with the reason. In the order in which they must go: a failed trial may be
/// what keeps an older ok one from counting, so the superseded ones go before the failures.
void list_doomed(sqlite::Connection& connection, const GarbageOptions& options) {
  connection.execute(
      "CREATE TEMP TABLE doomed (place INTEGER PRIMARY KEY, id INTEGER NOT NULL, reason INTEGER NOT NULL)");
  connection.execute(fmt::format(
      "INSERT INTO doomed (id, reason) SELECT id, reason FROM ("
      "SELECT m.id, CASE WHEN s.known = 0 THEN {} WHEN s.hash IS NOT NULL AND h.hash <> s.hash THEN {} "
      "WHEN NOT EXISTS (SELECT 1 FROM newest_measurements n WHERE n.id = m.id) THEN {} {} END AS reason "
      "FROM measurements m JOIN problems p ON p.id = m.problem_id JOIN standing s ON s.op = p.op "
      "JOIN source_hashes h ON h.id = m.source_id) "
      "WHERE reason IS NOT NULL AND id NOT IN (SELECT id FROM winners) ORDER BY reason, id",
      static_cast<int>(unknown_operator), static_cast<int>(stale), static_cast<int>(superseded),
      options.keep_failures ? "" : fmt::format("WHEN m.outcome <> 'ok' THEN {}", static_cast<int>(failure))));
}

std::int64_t count_doomed(sqlite::Connection& connection, Reason reason) {
  return number_of(connection, fmt::format("SELECT count(*) FROM doomed WHERE reason = {}", static_cast<int>(reason)));
}

constexpr const char* idle_code = "FROM trial_code WHERE trial_id NOT IN (SELECT id FROM winners)";
constexpr const char* stale_offline =
    "FROM offline_trials WHERE EXISTS (SELECT 1 FROM problems p JOIN standing s ON s.op = p.op WHERE p.id = "
    "offline_trials.problem_id AND (s.known = 0 OR s.hash <> offline_trials.source_hash))";

void drop_doomed(sqlite::Connection& connection) {
  const std::int64_t all = number_of(connection, "SELECT count(*) FROM doomed");
  for (std::int64_t first = 1; first <= all; first += batch) {
    sqlite::Transaction transaction(connection);
    // Looked at again under the lock: another program may have made other sources current meanwhile.
    connection.execute("CREATE TEMP TABLE winning AS SELECT id FROM winners");
    const std::string these =
        fmt::format("(SELECT id FROM doomed WHERE place >= {} AND place < {} AND id NOT IN (SELECT id FROM winning))",
                    first, first + batch);
    connection.execute("DELETE FROM trial_code WHERE trial_id IN " + these);
    connection.execute("DELETE FROM measurements WHERE id IN " + these);
    connection.execute("DROP TABLE winning");
    transaction.commit();
  }
}

/// "NOT IN" clauses for all that refers to a table, from the schema itself: a table that is added is not forgotten.
std::string unreferenced(sqlite::Connection& connection, const std::string& table) {
  std::string condition = "1";
  sqlite::Statement query(connection,
                          "SELECT t.name, f.\"from\" FROM sqlite_master t, pragma_foreign_key_list(t.name) f "
                          "WHERE t.type = 'table' AND f.\"table\" = ?1");
  query.bind(table);
  while (query.step()) {
    condition += fmt::format(" AND id NOT IN (SELECT {} FROM {} WHERE {} IS NOT NULL)", query.text(1), query.text(0),
                             query.text(1));
  }
  return condition;
}

constexpr const char* dictionaries[] = {"configurations", "source_hashes", "problems", "environments"};

std::int64_t drop_rest(sqlite::Connection& connection, GarbageReport& report) {
  sqlite::Transaction transaction(connection);
  changed(connection, std::string("DELETE ") + idle_code);
  report.code = changed(connection, "DELETE FROM code_objects WHERE hash NOT IN (SELECT code_hash FROM trial_code)");
  report.offline = changed(connection, std::string("DELETE ") + stale_offline);
  std::int64_t orphans = 0;
  for (const char* table : dictionaries) {
    orphans += changed(connection, fmt::format("DELETE FROM {} WHERE {}", table, unreferenced(connection, table)));
  }
  transaction.commit();
  return orphans;
}

/// Writes the file anew without its free pages. False when another process is in the way: no harm is done then.
bool compact(sqlite::Connection& connection) {
  return sqlite3_exec(connection.get(), "VACUUM", nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool worth_it(sqlite::Connection& connection, const GarbageReport& report) {
  // Pages that lost some of their rows are not on the free list.
  if (static_cast<double>(report.trials()) > worth_compacting * static_cast<double>(report.trials() + report.kept))
    return true;
  const auto pages = static_cast<double>(number_of(connection, "PRAGMA page_count"));
  const auto free_pages = static_cast<double>(number_of(connection, "PRAGMA freelist_count"));
  // A file of an earlier release gets its checksums with this.
  return free_pages > worth_compacting * pages || !sqlite::read_format(connection.path()).checksums;
}

}  // namespace

GarbageReport collect_garbage(const std::filesystem::path& path, const GarbageOptions& options,
                              const BuildKnowledge& known) {
  sqlite::Connection connection(path, options.dry_run ? sqlite::Access::read_only : sqlite::Access::read_write);
  require_current_schema(connection);
  connection.execute("PRAGMA temp_store=MEMORY");
  GarbageReport report;
  report.bytes_before = size_of(path);
  if (!options.dry_run) sqlite::set_journal(connection);
  // What refers to a row is looked up for all at once (unreferenced); SQLite would do it for each, without an index.
  connection.execute("PRAGMA foreign_keys=OFF");
  list_standings(connection, known);
  list_doomed(connection, options);
  report.unknown_operators = count_doomed(connection, unknown_operator);
  report.stale = count_doomed(connection, stale);
  report.superseded = count_doomed(connection, superseded);
  report.failures = count_doomed(connection, failure);
  if (options.dry_run) {
    report.offline = number_of(connection, std::string("SELECT count(*) ") + stale_offline);
    report.code = number_of(connection, fmt::format("SELECT count(*) FROM code_objects WHERE hash NOT IN (SELECT "
                                                    "code_hash FROM trial_code WHERE trial_id IN (SELECT id FROM "
                                                    "winners))"));
    report.kept = number_of(connection, "SELECT count(*) FROM measurements") - report.trials();
    report.bytes_after = report.bytes_before;
    return report;
  }
  drop_doomed(connection);
  report.orphans = drop_rest(connection, report);
  report.kept = number_of(connection, "SELECT count(*) FROM measurements");
  report.compacted = worth_it(connection, report) && compact(connection);
  // The file itself shrinks when the log has been copied into it; another process that reads may delay that.
  sqlite3_wal_checkpoint_v2(connection.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  report.bytes_after = size_of(path);
  return report;
}

}  // namespace wavetune::db
