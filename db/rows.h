// Rows of the tables as values: which columns a query selects, and how they are read and written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "db/sqlite/statement.h"

namespace wavetune::db {

/// Column lists for SELECT, with the aliases e (environments), p (problems), t (trials or winners), l (layouts). A
/// reader takes the position of its first column; `count` is how many it reads.
struct EnvironmentColumns {
  static constexpr std::string_view names = "e.device, e.arch, e.cu_count, e.driver, e.compiler, e.compiler_version";
  static constexpr int count = 6;
  static Environment read(const sqlite::Statement& row, int first);
};

struct TrialColumns {
  static constexpr std::string_view names =
      "p.op, p.dtype, p.dims, t.configuration, t.source_hash, t.outcome, t.median_us, t.samples_us, t.compile_ms, "
      "t.max_error, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes, t.spills, t.occupancy, "
      "t.clock_mhz, t.power_w, t.temperature_c, t.throttled, t.error, t.created_at, t.machine";
  static constexpr int count = 24;
  static Trial read(const sqlite::Statement& row, int first);
};

struct WinnerColumns {
  static constexpr std::string_view names =
      "t.op, t.dtype, t.dims, t.configuration, t.source_hash, t.median_us, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, "
      "t.scratch_bytes, t.spills, t.occupancy";
  static constexpr int count = 13;
  static Winner read(const sqlite::Statement& row, int first);
};

struct LayoutColumns {
  static constexpr std::string_view names =
      "l.model_id, l.model_name, l.devices, l.objective, l.tp, l.dp, l.candidates, l.created_at";
  static constexpr int count = 8;
  static Layout read(const sqlite::Statement& row, int first);
};

/// Row id of an environment or problem, which is added when it is new. Inside a transaction.
std::int64_t environment_id(sqlite::Connection& connection, const Environment& environment);
std::int64_t problem_id(sqlite::Connection& connection, const Problem& problem);
/// Same, of a configuration (by its text) and of a source hash.
std::int64_t configuration_id(sqlite::Connection& connection, std::string_view text);
std::int64_t source_id(sqlite::Connection& connection, std::string_view hash);

/// Row id of an environment, problem, configuration or source hash, or 0, which no row has.
std::int64_t find_environment(sqlite::Connection& connection, const Environment& environment);
std::int64_t find_problem(sqlite::Connection& connection, const Problem& problem);
std::int64_t find_configuration(sqlite::Connection& connection, std::string_view text);
std::int64_t find_source(sqlite::Connection& connection, std::string_view hash);

/// Inside a transaction. An empty created_at becomes now; a trial's is then later than those of its configuration.
void insert_trial(sqlite::Connection& connection, const Environment& environment, const Trial& trial);

}  // namespace wavetune::db
