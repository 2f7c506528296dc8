#include "db/offline_trial.h"

#include <cmath>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/rows.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {
namespace {

constexpr std::string_view columns =
    "p.op, p.dtype, p.dims, o.configuration, o.source_hash, o.outcome, o.predicted_us, o.compile_ms, o.vgpr, o.agpr, "
    "o.sgpr, o.lds_bytes, o.scratch_bytes, o.spills, o.occupancy, o.error, o.created_at";

OfflineTrial read_row(const sqlite::Statement& row) {
  OfflineTrial trial;
  trial.problem = {row.text(0), row.text(1), named_ints_from_text(row.text(2))};
  trial.config = named_ints_from_text(row.text(3));
  trial.source_hash = row.text(4);
  const std::string word = row.text(5);
  const auto outcome = outcome_from_string(word);
  if (!outcome) fail(ErrorKind::bad_data, "an offline trial in the database has the unknown outcome '{}'", word);
  trial.outcome = *outcome;
  trial.predicted_us = row.real(6);
  trial.compile_ms = row.real(7);
  trial.resources = {row.optional_integer(8),  row.optional_integer(9),  row.optional_integer(10),
                     row.optional_integer(11), row.optional_integer(12), row.optional_integer(13),
                     row.optional_integer(14)};
  trial.error = row.text(15);
  trial.created_at = row.text(16);
  return trial;
}

std::vector<OfflineTrial> read_all(sqlite::Statement& query) {
  std::vector<OfflineTrial> trials;
  while (query.step()) trials.push_back(read_row(query));
  return trials;
}

}  // namespace

void put_offline_trial(sqlite::Connection& connection, const Environment& environment, const OfflineTrial& trial) {
  if (!(std::isfinite(trial.predicted_us) && trial.predicted_us > 0)) {
    fail(ErrorKind::internal, "offline trial of {} with {} has the predicted time {} us", trial.problem.key(),
         to_text(trial.config), trial.predicted_us);
  }
  const std::int64_t environment_row = environment_id(connection, environment);
  const std::int64_t problem_row = problem_id(connection, trial.problem);
  const Resources& r = trial.resources;
  sqlite::Statement insert(
      connection,
      "INSERT OR REPLACE INTO offline_trials (environment_id, problem_id, configuration, source_hash, outcome, "
      "predicted_us, compile_ms, vgpr, agpr, sgpr, lds_bytes, scratch_bytes, spills, occupancy, error, created_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)");
  insert.bind(environment_row, problem_row, to_text(trial.config), trial.source_hash, to_string(trial.outcome),
              trial.predicted_us, trial.compile_ms, r.vgpr, r.agpr, r.sgpr, r.lds_bytes, r.scratch_bytes, r.spills,
              r.occupancy, trial.error, trial.created_at.empty() ? utc_now() : trial.created_at);
  insert.run();
}

std::vector<OfflineTrial> read_offline_trials(sqlite::Connection& connection, const Environment& environment,
                                              const Problem* problem, std::string_view source_hash) {
  const std::string select = fmt::format(
      "SELECT {} FROM offline_trials o JOIN problems p ON p.id = o.problem_id WHERE o.environment_id = ?1", columns);
  const std::int64_t environment_row = find_environment(connection, environment);
  if (problem == nullptr) {
    sqlite::Statement query(connection, select + " ORDER BY o.id");
    query.bind(environment_row);
    return read_all(query);
  }
  sqlite::Statement query(
      connection, select + " AND p.op = ?2 AND p.dtype = ?3 AND p.dims = ?4 AND o.source_hash = ?5 ORDER BY o.id");
  query.bind(environment_row, problem->op, problem->dtype, to_text(problem->dims), source_hash);
  return read_all(query);
}

std::vector<OfflineTrial> read_shortlist(sqlite::Connection& connection, std::string_view arch,
                                         std::string_view compiler_version, const Problem& problem,
                                         std::string_view source_hash, int most) {
  sqlite::Statement query(
      connection,
      fmt::format("SELECT {} FROM offline_trials o JOIN problems p ON p.id = o.problem_id "
                  "WHERE p.op = ?1 AND p.dtype = ?2 AND p.dims = ?3 AND o.source_hash = ?4 AND o.outcome = 'ok' "
                  "AND o.environment_id = (SELECT e.id FROM environments e JOIN offline_trials x ON x.environment_id = "
                  "e.id WHERE e.arch = ?5 AND x.problem_id = p.id AND x.source_hash = ?4 AND x.outcome = 'ok' "
                  "ORDER BY e.compiler_version = ?6 DESC, x.created_at DESC, e.compiler_version LIMIT 1) "
                  "ORDER BY o.predicted_us, o.configuration LIMIT ?7",
                  columns));
  query.bind(problem.op, problem.dtype, to_text(problem.dims), source_hash, arch, compiler_version,
             static_cast<std::int64_t>(most));
  return read_all(query);
}

}  // namespace wavetune::db
