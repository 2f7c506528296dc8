#include "db/rows.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "db/base/error.h"
#include "db/base/time.h"
#include "db/layout_json.h"
#include "db/samples.h"
#include "db/schema.h"

namespace wavetune::db {
namespace {

Outcome read_outcome(const std::string& word) {
  const auto outcome = outcome_from_string(word);
  if (!outcome) fail(ErrorKind::bad_data, "a trial in the database has the unknown outcome '{}'", word);
  return *outcome;
}

Resources read_resources(const sqlite::Statement& row, int first) {
  Resources resources;
  resources.vgpr = row.optional_integer(first);
  resources.agpr = row.optional_integer(first + 1);
  resources.sgpr = row.optional_integer(first + 2);
  resources.lds_bytes = row.optional_integer(first + 3);
  resources.scratch_bytes = row.optional_integer(first + 4);
  resources.spills = row.optional_integer(first + 5);
  resources.occupancy = row.optional_integer(first + 6);
  return resources;
}

template <class... Values>
std::int64_t find_id(sqlite::Connection& connection, std::string_view select, const Values&... values) {
  sqlite::Statement find(connection, select);
  return find.bind(values...).step() ? find.integer(0) : 0;
}

/// Inserts unless it is there, then gives its id.
template <class... Values>
std::int64_t id_of(sqlite::Connection& connection, std::string_view select, std::string_view insert,
                   const Values&... values) {
  if (const std::int64_t found = find_id(connection, select, values...); found != 0) return found;
  sqlite::Statement(connection, insert).bind(values...).run();
  return sqlite3_last_insert_rowid(connection.get());
}

constexpr std::string_view select_environment =
    "SELECT id FROM environments WHERE device=?1 AND arch=?2 AND cu_count=?3 AND driver=?4 AND compiler=?5 AND "
    "compiler_version=?6";
constexpr std::string_view select_problem = "SELECT id FROM problems WHERE op=?1 AND dtype=?2 AND dims=?3";
constexpr std::string_view select_configuration = "SELECT id FROM configurations WHERE hash=?1 AND text=?2";
constexpr std::string_view select_source = "SELECT id FROM source_hashes WHERE hash=?1";

}  // namespace

Environment EnvironmentColumns::read(const sqlite::Statement& row, int first) {
  return {row.text(first),     row.text(first + 1), static_cast<int>(row.integer(first + 2)),
          row.text(first + 3), row.text(first + 4), row.text(first + 5)};
}

Trial TrialColumns::read(const sqlite::Statement& row, int first) {
  Trial trial;
  trial.problem = {row.text(first), row.text(first + 1), named_ints_from_text(row.text(first + 2))};
  trial.config = named_ints_from_text(row.text(first + 3));
  trial.source_hash = row.text(first + 4);
  trial.outcome = read_outcome(row.text(first + 5));
  trial.median_us = row.real(first + 6);
  if (!row.is_blob(first + 7)) {
    fail(ErrorKind::bad_data, "trial of {} with {}: its samples cannot be read; 'wavetune db verify' says more",
         trial.problem.key(), to_text(trial.config));
  }
  trial.samples_us = unpack_samples(row.bytes(first + 7));
  trial.compile_ms = row.real(first + 8);
  trial.max_error = row.real(first + 9);
  trial.resources = read_resources(row, first + 10);
  trial.state = {row.optional_integer(first + 17), row.optional_integer(first + 18), row.optional_integer(first + 19),
                 row.optional_integer(first + 20)};
  trial.error = row.text(first + 21);
  trial.created_at = row.text(first + 22);
  trial.machine = row.text(first + 23);
  return trial;
}

Winner WinnerColumns::read(const sqlite::Statement& row, int first) {
  Winner winner;
  winner.problem = {row.text(first), row.text(first + 1), named_ints_from_text(row.text(first + 2))};
  winner.config = named_ints_from_text(row.text(first + 3));
  winner.source_hash = row.text(first + 4);
  winner.median_us = row.real(first + 5);
  winner.resources = read_resources(row, first + 6);
  return winner;
}

Layout LayoutColumns::read(const sqlite::Statement& row, int first) {
  Layout layout;
  layout.model_id = row.text(first);
  layout.model_name = row.text(first + 1);
  layout.devices = static_cast<int>(row.integer(first + 2));
  const std::string objective = row.text(first + 3);
  const auto known = objective_from_string(objective);
  if (!known) fail(ErrorKind::bad_data, "a layout in the database has the unknown objective '{}'", objective);
  layout.objective = *known;
  layout.tp = static_cast<int>(row.integer(first + 4));
  layout.dp = static_cast<int>(row.integer(first + 5));
  const auto candidates = nlohmann::json::parse(row.text(first + 6), nullptr, false);
  layout.table = rows_from_json(JsonReader(candidates, "layouts.candidates"));
  layout.created_at = row.text(first + 7);
  return layout;
}

std::int64_t find_environment(sqlite::Connection& connection, const Environment& environment) {
  return find_id(connection, select_environment, environment.device, environment.arch, environment.cu_count,
                 environment.driver, environment.compiler, environment.compiler_version);
}

std::int64_t find_problem(sqlite::Connection& connection, const Problem& problem) {
  return find_id(connection, select_problem, problem.op, problem.dtype, to_text(problem.dims));
}

std::int64_t find_configuration(sqlite::Connection& connection, std::string_view text) {
  return find_id(connection, select_configuration, text_hash(text), text);
}

std::int64_t find_source(sqlite::Connection& connection, std::string_view hash) {
  return find_id(connection, select_source, hash);
}

std::int64_t environment_id(sqlite::Connection& connection, const Environment& environment) {
  return id_of(connection, select_environment,
               "INSERT INTO environments (device, arch, cu_count, driver, compiler, compiler_version) "
               "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
               environment.device, environment.arch, environment.cu_count, environment.driver, environment.compiler,
               environment.compiler_version);
}

std::int64_t problem_id(sqlite::Connection& connection, const Problem& problem) {
  return id_of(connection, select_problem, "INSERT INTO problems (op, dtype, dims) VALUES (?1, ?2, ?3)", problem.op,
               problem.dtype, to_text(problem.dims));
}

std::int64_t configuration_id(sqlite::Connection& connection, std::string_view text) {
  return id_of(connection, select_configuration, "INSERT INTO configurations (hash, text) VALUES (?1, ?2)",
               text_hash(text), text);
}

std::int64_t source_id(sqlite::Connection& connection, std::string_view hash) {
  return id_of(connection, select_source, "INSERT INTO source_hashes (hash) VALUES (?1)", hash);
}

namespace {

/// For a new trial of a configuration: it counts as the newest even when the clock has gone back or has not moved.
std::string time_of_next(sqlite::Connection& connection, std::int64_t environment, std::int64_t problem,
                         std::int64_t source, std::int64_t configuration) {
  sqlite::Statement newest(connection,
                           "SELECT ifnull(max(created_at), '') FROM measurements WHERE environment_id = ?1 AND "
                           "problem_id = ?2 AND source_id = ?3 AND configuration_id = ?4");
  newest.bind(environment, problem, source, configuration).step();
  return utc_after(newest.text(0));
}

}  // namespace

void insert_trial(sqlite::Connection& connection, const Environment& environment, const Trial& trial) {
  const std::int64_t environment_row = environment_id(connection, environment);
  const std::int64_t problem_row = problem_id(connection, trial.problem);
  const std::int64_t configuration_row = configuration_id(connection, to_text(trial.config));
  const std::int64_t source_row = source_id(connection, trial.source_hash);
  const std::vector<std::byte> samples = pack_samples(trial.samples_us);
  const std::string created_at =
      trial.created_at.empty() ? time_of_next(connection, environment_row, problem_row, source_row, configuration_row)
                               : trial.created_at;
  const double max_error = std::isfinite(trial.max_error) ? trial.max_error : std::numeric_limits<double>::infinity();
  sqlite::Statement insert(
      connection,
      "INSERT INTO measurements (environment_id, problem_id, configuration_id, source_id, outcome, median_us, "
      "samples_us, "
      "compile_ms, max_error, vgpr, agpr, sgpr, lds_bytes, scratch_bytes, spills, occupancy, clock_mhz, power_w, "
      "temperature_c, throttled, error, created_at, machine) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
      "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)");
  const Resources& resources = trial.resources;
  insert.bind(environment_row, problem_row, configuration_row, source_row, to_string(trial.outcome), trial.median_us,
              std::span<const std::byte>(samples), trial.compile_ms, max_error, resources.vgpr, resources.agpr,
              resources.sgpr, resources.lds_bytes, resources.scratch_bytes, resources.spills, resources.occupancy,
              trial.state.clock_mhz, trial.state.power_w, trial.state.temperature_c, trial.state.throttled, trial.error,
              created_at, trial.machine);
  insert.run();
}

}  // namespace wavetune::db
