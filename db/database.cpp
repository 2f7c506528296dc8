#include "db/database.h"

#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/earlier_trials.h"
#include "db/layout_rows.h"
#include "db/machines.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/sqlite/journal.h"
#include "db/sqlite/transaction.h"
#include "db/verdict.h"

namespace wavetune::db {
namespace {

sqlite::Access access_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read_only:
      return sqlite::Access::read_only;
    case OpenMode::read_write:
      return sqlite::Access::read_write;
    case OpenMode::create:
      return sqlite::Access::create;
  }
  return sqlite::Access::read_only;
}

/// Ok trials need a time; and a time that is not finite has no place in an export.
void check_times(const Trial& trial) {
  for (const double sample : trial.samples_us) {
    if (!std::isfinite(sample)) {
      fail(ErrorKind::internal, "trial of {} with {} has the sample {} us", trial.problem.key(), to_text(trial.config),
           sample);
    }
  }
  if (trial.outcome == Outcome::ok && !(std::isfinite(trial.median_us) && trial.median_us > 0)) {
    fail(ErrorKind::internal, "trial of {} with {} is ok but has the median {} us", trial.problem.key(),
         to_text(trial.config), trial.median_us);
  }
}

bool has_trial(sqlite::Connection& connection, std::int64_t environment, const Trial& trial) {
  sqlite::Statement find(
      connection,
      "SELECT 1 FROM measurements WHERE environment_id=?1 AND problem_id=?2 AND source_id=?3 AND "
      "configuration_id=?4 AND outcome=?5 AND median_us=?6 AND created_at=?7 AND (machine=?8 OR ?8='')");
  return find
      .bind(environment, find_problem(connection, trial.problem), find_source(connection, trial.source_hash),
            find_configuration(connection, to_text(trial.config)), to_string(trial.outcome), trial.median_us,
            trial.created_at, trial.machine)
      .step();
}

/// Of two trials of one configuration, as the view `winners` has it: by what they say, not by where they lie, so that
/// the order in which databases were merged does not show.
bool newer(const Trial& a, const Trial& b) {
  const auto key = [](const Trial& trial) {
    return std::tuple(std::string_view(trial.created_at), trial.median_us, std::string_view(trial.machine),
                      to_string(trial.outcome));
  };
  return key(a) >= key(b);
}

}  // namespace

class Database::Impl {
 public:
  Impl(const std::filesystem::path& path, OpenMode mode) : connection(path, access_of(mode)) {
    // Look before touching: a foreign or newer file must stay as it is, its journal mode included.
    const int version = read_schema_version(connection);
    if (mode == OpenMode::read_only || version > current_schema_version() ||
        (version == 0 && mode != OpenMode::create)) {
      require_current_schema(connection);
    }
    if (mode != OpenMode::read_only) {
      sqlite::set_journal(connection);
      migrate(connection);
    }
  }

  mutable std::mutex mutex;
  /// Reading queries need a connection that can prepare: const methods change nothing that a caller sees.
  mutable sqlite::Connection connection;
};

Database Database::open(const std::filesystem::path& path, OpenMode mode) {
  return Database(std::make_unique<Impl>(path, mode));
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

void Database::add_trial(const Environment& environment, const Trial& trial) {
  check_times(trial);
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  insert_trial(impl_->connection, environment, trial);
  transaction.commit();
}

std::vector<StoredTrial> Database::trials(const TrialFilter& filter) const {
  std::vector<StoredTrial> found;
  visit_trials(filter, [&found](const StoredTrial& stored) { found.push_back(stored); });
  return found;
}

void Database::visit_trials(const TrialFilter& filter, const std::function<void(const StoredTrial&)>& visit) const {
  const std::scoped_lock lock(impl_->mutex);
  std::int64_t environment = 0;
  if (filter.environment) {
    environment = find_environment(impl_->connection, *filter.environment);
    if (environment == 0) return;
  }
  sqlite::Statement query(
      impl_->connection,
      fmt::format(
          "SELECT {}, {}, t.id IN (SELECT id FROM winners) FROM trials t "
          "JOIN environments e ON e.id = t.environment_id JOIN problems p ON p.id = t.problem_id "
          "WHERE (?1 = '' OR p.op = ?1) AND (?2 = '' OR t.outcome = ?2) AND (?3 = 0 OR e.id = ?3) {}ORDER BY t.id",
          EnvironmentColumns::names, TrialColumns::names,
          filter.only_winners ? "AND t.id IN (SELECT id FROM winners) " : ""));
  query.bind(filter.op.value_or(""), filter.outcome ? to_string(*filter.outcome) : std::string_view(), environment);
  while (query.step()) {
    constexpr int trial_at = EnvironmentColumns::count;
    visit({TrialColumns::read(query, trial_at), EnvironmentColumns::read(query, 0),
           query.integer(trial_at + TrialColumns::count) != 0});
  }
}

std::int64_t Database::count_trials() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection, "SELECT count(*) FROM measurements");
  query.step();
  return query.integer(0);
}

std::vector<OutcomeCount> Database::outcome_counts() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(
      impl_->connection,
      fmt::format("SELECT {}, p.op, t.outcome, count(*) FROM measurements t "
                  "JOIN environments e ON e.id = t.environment_id JOIN problems p ON p.id = t.problem_id "
                  "GROUP BY e.id, p.op, t.outcome ORDER BY e.id, p.op, t.outcome",
                  EnvironmentColumns::names));
  std::vector<OutcomeCount> counts;
  while (query.step()) {
    constexpr int at = EnvironmentColumns::count;
    const auto outcome = outcome_from_string(query.text(at + 1));
    if (!outcome) continue;
    counts.push_back({EnvironmentColumns::read(query, 0), query.text(at), *outcome, query.integer(at + 2)});
  }
  return counts;
}

std::vector<Trial> Database::trials_of(const Environment& environment, const Problem& problem,
                                       std::string_view source_hash) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection,
                          fmt::format("SELECT {} FROM trials t JOIN problems p ON p.id = t.problem_id "
                                      "WHERE t.environment_id = ?1 AND p.op = ?2 AND p.dtype = ?3 AND p.dims = ?4 AND "
                                      "t.source_hash = ?5 ORDER BY t.id",
                                      TrialColumns::names));
  query.bind(find_environment(impl_->connection, environment), problem.op, problem.dtype, to_text(problem.dims),
             source_hash);
  std::vector<Trial> found;
  std::map<std::string, std::size_t> at;  // of each configuration
  while (query.step()) {
    Trial trial = TrialColumns::read(query, 0);
    const auto [place, first] = at.emplace(to_text(trial.config), found.size());
    if (first) {
      found.push_back(std::move(trial));
    } else if (newer(trial, found[place->second])) {
      found[place->second] = std::move(trial);
    }
  }
  return found;
}

std::int64_t Database::count_tried(const Environment& environment, const Problem& problem,
                                   std::string_view source_hash) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Connection& connection = impl_->connection;
  sqlite::Statement query(connection,
                          "SELECT count(DISTINCT configuration_id) FROM measurements WHERE environment_id = ?1 AND "
                          "problem_id = ?2 AND source_id = ?3");
  query.bind(find_environment(connection, environment), find_problem(connection, problem),
             find_source(connection, source_hash));
  query.step();
  return query.integer(0);
}

std::vector<std::string> Database::trial_times(const Environment& environment, const Problem& problem,
                                               std::string_view source_hash) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Connection& connection = impl_->connection;
  sqlite::Statement query(
      connection,
      "SELECT created_at FROM measurements WHERE environment_id = ?1 AND problem_id = ?2 AND source_id = ?3");
  query.bind(find_environment(connection, environment), find_problem(connection, problem),
             find_source(connection, source_hash));
  std::vector<std::string> times;
  while (query.step()) times.push_back(query.text(0));
  return times;
}

void Database::put_offline_trial(const Environment& environment, const OfflineTrial& trial) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  db::put_offline_trial(impl_->connection, environment, trial);
  transaction.commit();
}

std::vector<OfflineTrial> Database::offline_trials(const Environment& environment) const {
  const std::scoped_lock lock(impl_->mutex);
  return read_offline_trials(impl_->connection, environment, nullptr, "");
}

std::vector<OfflineTrial> Database::offline_trials_of(const Environment& environment, const Problem& problem,
                                                      std::string_view source_hash) const {
  const std::scoped_lock lock(impl_->mutex);
  return read_offline_trials(impl_->connection, environment, &problem, source_hash);
}

std::vector<OfflineTrial> Database::shortlist(const Environment& node, const Problem& problem,
                                              std::string_view source_hash, int most) const {
  const std::scoped_lock lock(impl_->mutex);
  return read_shortlist(impl_->connection, node.arch, node.compiler_version, problem, source_hash, most);
}

std::vector<Config> Database::earlier_best(const Environment& environment, const Problem& problem,
                                           std::string_view source_hash, int most) const {
  const std::scoped_lock lock(impl_->mutex);
  return read_earlier_best(impl_->connection, environment, problem, source_hash, most);
}

void Database::set_current_source(std::string_view op, std::string_view source_hash) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  sqlite::Statement(impl_->connection,
                    "INSERT INTO sources (op, current_hash, said_at) VALUES (?1, ?2, ?3) "
                    "ON CONFLICT (op) DO UPDATE SET current_hash = excluded.current_hash, said_at = excluded.said_at")
      .bind(op, source_hash, utc_now())
      .run();
  transaction.commit();
}

std::optional<std::string> Database::current_source(std::string_view op) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection, "SELECT current_hash FROM sources WHERE op = ?1");
  if (!query.bind(op).step()) return std::nullopt;
  return query.text(0);
}

std::vector<std::pair<std::string, std::string>> Database::sources() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection, "SELECT op, current_hash FROM sources ORDER BY op");
  std::vector<std::pair<std::string, std::string>> found;
  while (query.step()) found.emplace_back(query.text(0), query.text(1));
  return found;
}

std::optional<Winner> Database::winner(const Environment& environment, const Problem& problem) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(
      impl_->connection,
      fmt::format("SELECT {} FROM winners t WHERE t.environment_id = ?1 AND t.op = ?2 AND t.dtype = ?3 "
                  "AND t.dims = ?4",
                  WinnerColumns::names));
  query.bind(find_environment(impl_->connection, environment), problem.op, problem.dtype, to_text(problem.dims));
  if (!query.step()) return std::nullopt;
  return WinnerColumns::read(query, 0);
}

std::vector<Winner> Database::winners(const Environment& environment, std::string_view op) const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection,
                          fmt::format("SELECT {} FROM winners t WHERE t.environment_id = ?1 AND (?2 = '' OR t.op = ?2) "
                                      "ORDER BY t.problem_id",
                                      WinnerColumns::names));
  query.bind(find_environment(impl_->connection, environment), op);
  std::vector<Winner> found;
  while (query.step()) found.push_back(WinnerColumns::read(query, 0));
  return found;
}

std::vector<StoredWinner> Database::all_winners() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection,
                          fmt::format("SELECT {}, {} FROM winners t JOIN environments e ON e.id = t.environment_id "
                                      "ORDER BY t.environment_id, t.problem_id",
                                      WinnerColumns::names, EnvironmentColumns::names));
  std::vector<StoredWinner> found;
  while (query.step()) {
    found.push_back({WinnerColumns::read(query, 0), EnvironmentColumns::read(query, WinnerColumns::count)});
  }
  return found;
}

std::vector<Environment> Database::environments() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(impl_->connection,
                          fmt::format("SELECT {} FROM environments e ORDER BY e.id", EnvironmentColumns::names));
  std::vector<Environment> found;
  while (query.step()) found.push_back(EnvironmentColumns::read(query, 0));
  return found;
}

void Database::add_verdict(const Verdict& verdict) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  insert_verdict(impl_->connection, verdict);
  transaction.commit();
}

std::vector<StoredVerdict> Database::verdicts() const {
  const std::scoped_lock lock(impl_->mutex);
  return read_verdicts(impl_->connection);
}

std::vector<Config> Database::banned(const Environment& environment, const Problem& problem) const {
  const std::scoped_lock lock(impl_->mutex);
  return banned_configurations(impl_->connection, environment, problem);
}

bool Database::put_winner_code(const Environment& environment, const Problem& problem, const WinnerCode& winner) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  const bool stored = db::put_winner_code(impl_->connection, environment, problem, winner);
  transaction.commit();
  return stored;
}

std::optional<std::string> Database::winner_code_key(const Environment& environment, const Problem& problem) const {
  const std::scoped_lock lock(impl_->mutex);
  return db::winner_code_key(impl_->connection, environment, problem);
}

std::optional<std::vector<std::byte>> Database::code(std::string_view request_key) const {
  const std::scoped_lock lock(impl_->mutex);
  return find_code(impl_->connection, request_key);
}

CodeTotals Database::code_totals() const {
  const std::scoped_lock lock(impl_->mutex);
  return db::code_totals(impl_->connection);
}

PublishCounts Database::add_published(std::span<const PublishedTime> rows) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  const PublishCounts counts = db::add_published(impl_->connection, rows);
  transaction.commit();
  return counts;
}

std::vector<PublishedTime> Database::published_times(std::string_view arch, int cu_count) const {
  const std::scoped_lock lock(impl_->mutex);
  return read_published(impl_->connection, arch, cu_count);
}

void Database::put_layout(const Environment& environment, const Layout& layout) {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Transaction transaction(impl_->connection);
  insert_layout(impl_->connection, environment, layout);
  transaction.commit();
}

std::optional<Layout> Database::layout(const Environment& environment, std::string_view model_id, int devices,
                                       Objective objective) const {
  const std::scoped_lock lock(impl_->mutex);
  return newest_layout(impl_->connection, environment, model_id, devices, to_string(objective));
}

std::optional<Layout> Database::latest_layout(const Environment& environment, std::string_view model_id,
                                              int devices) const {
  const std::scoped_lock lock(impl_->mutex);
  return newest_layout(impl_->connection, environment, model_id, devices, "");
}

std::vector<std::pair<Environment, Layout>> Database::layouts() const {
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Statement query(
      impl_->connection,
      fmt::format("SELECT {}, {} FROM layouts l JOIN environments e ON e.id = l.environment_id ORDER BY l.id",
                  EnvironmentColumns::names, LayoutColumns::names));
  std::vector<std::pair<Environment, Layout>> found;
  while (query.step()) {
    found.emplace_back(EnvironmentColumns::read(query, 0), LayoutColumns::read(query, EnvironmentColumns::count));
  }
  return found;
}

MergeCounts Database::merge(const Contents& contents) {
  for (const StoredTrial& stored : contents.trials) check_times(stored.trial);
  const std::scoped_lock lock(impl_->mutex);
  sqlite::Connection& connection = impl_->connection;
  MergeCounts counts;
  sqlite::Transaction transaction(connection);
  for (const auto& [op, hash] : contents.sources) {
    sqlite::Statement(connection, "INSERT OR IGNORE INTO sources (op, current_hash) VALUES (?1, ?2)")
        .bind(op, hash)
        .run();
  }
  for (const auto& [trial, environment, winner] : contents.trials) {
    if (has_trial(connection, environment_id(connection, environment), trial)) {
      ++counts.trials_known;
    } else {
      insert_trial(connection, environment, trial);
      ++counts.trials_added;
    }
  }
  for (const auto& [environment, layout] : contents.layouts) {
    if (has_layout(connection, environment_id(connection, environment), layout)) {
      ++counts.layouts_known;
    } else {
      insert_layout(connection, environment, layout);
      ++counts.layouts_added;
    }
  }
  transaction.commit();
  return counts;
}

std::vector<Machine> Database::machines() const {
  const std::scoped_lock lock(impl_->mutex);
  return read_machines(impl_->connection);
}

std::vector<Machine> Database::machine_counts() const {
  const std::scoped_lock lock(impl_->mutex);
  return count_by_machine(impl_->connection);
}

int Database::schema_version() const {
  const std::scoped_lock lock(impl_->mutex);
  return read_schema_version(impl_->connection);
}

const std::filesystem::path& Database::path() const { return impl_->connection.path(); }

}  // namespace wavetune::db
