#include "db/schema.h"

#include <xxhash.h>

#include <string>

#include "db/base/error.h"
#include "db/samples.h"
#include "db/schema_version_7.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/transaction.h"

namespace wavetune::db {
namespace {

constexpr std::string_view version_1 = R"sql(
CREATE TABLE environments (
  id               INTEGER PRIMARY KEY,
  device           TEXT NOT NULL,
  arch             TEXT NOT NULL,
  cu_count         INTEGER NOT NULL,
  driver           TEXT NOT NULL,
  compiler         TEXT NOT NULL,
  compiler_version TEXT NOT NULL,
  UNIQUE (device, arch, cu_count, driver, compiler, compiler_version)
);

CREATE TABLE problems (
  id    INTEGER PRIMARY KEY,
  op    TEXT NOT NULL,
  dtype TEXT NOT NULL,
  dims  TEXT NOT NULL,          -- "k=2048,m=16,n=4096"
  UNIQUE (op, dtype, dims)
);

-- What the templates of an operator are now.
CREATE TABLE sources (
  op           TEXT PRIMARY KEY,
  current_hash TEXT NOT NULL
);

-- Append only.
CREATE TABLE trials (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  problem_id     INTEGER NOT NULL REFERENCES problems (id),
  configuration  TEXT NOT NULL, -- "bk=16,bm=64"
  source_hash    TEXT NOT NULL,
  outcome        TEXT NOT NULL,
  median_us      REAL NOT NULL,
  samples_us     TEXT NOT NULL, -- JSON list
  compile_ms     REAL NOT NULL,
  max_error      REAL NOT NULL, -- infinity when the numbers were not finite
  vgpr           INTEGER,
  agpr           INTEGER,
  sgpr           INTEGER,
  lds_bytes      INTEGER,
  scratch_bytes  INTEGER,
  spills         INTEGER,
  error          TEXT NOT NULL,
  created_at     TEXT NOT NULL
);
-- The winner of a problem is the first entry of its range.
CREATE INDEX trials_by_time ON trials (environment_id, problem_id, source_hash, median_us, id) WHERE outcome = 'ok';
-- Which configurations of a problem have been tried (resume, import).
CREATE INDEX trials_by_configuration ON trials (environment_id, problem_id, source_hash, configuration);

CREATE TABLE layouts (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  model_id       TEXT NOT NULL,
  model_name     TEXT NOT NULL,
  devices        INTEGER NOT NULL,
  objective      TEXT NOT NULL,
  tp             INTEGER NOT NULL,
  dp             INTEGER NOT NULL,
  candidates     TEXT NOT NULL, -- JSON list of rows
  created_at     TEXT NOT NULL
);
CREATE INDEX layouts_by_model ON layouts (environment_id, model_id, devices, objective, created_at);

-- The fastest ok trial of each problem in each environment among those of the operator's current sources. It starts from
-- environments x problems, not from the trials, so that its cost does not grow with the number of trials.
CREATE VIEW winners AS
SELECT t.id, e.id AS environment_id, p.id AS problem_id, p.op, p.dtype, p.dims, t.configuration, t.source_hash, t.median_us,
       t.samples_us, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes, t.spills, t.created_at
FROM environments e
JOIN problems p
JOIN sources s ON s.op = p.op
JOIN trials t ON t.id = (SELECT b.id FROM trials b
                         WHERE b.outcome = 'ok' AND b.environment_id = e.id AND b.problem_id = p.id
                           AND b.source_hash = s.current_hash
                         ORDER BY b.median_us, b.id LIMIT 1);
)sql";

// How many waves of a trial's kernels fit beside each other.
constexpr std::string_view version_2 = R"sql(
ALTER TABLE trials ADD COLUMN occupancy INTEGER; -- waves per SIMD

DROP VIEW winners;
CREATE VIEW winners AS
SELECT t.id, e.id AS environment_id, p.id AS problem_id, p.op, p.dtype, p.dims, t.configuration, t.source_hash, t.median_us,
       t.samples_us, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes, t.spills, t.occupancy, t.created_at
FROM environments e
JOIN problems p
JOIN sources s ON s.op = p.op
JOIN trials t ON t.id = (SELECT b.id FROM trials b
                         WHERE b.outcome = 'ok' AND b.environment_id = e.id AND b.problem_id = p.id
                           AND b.source_hash = s.current_hash
                         ORDER BY b.median_us, b.id LIMIT 1);
)sql";

// Configurations that were compiled for an architecture and never run: resources and a predicted time.
constexpr std::string_view version_3 = R"sql(
CREATE TABLE offline_trials (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environments (id), -- without device and driver
  problem_id     INTEGER NOT NULL REFERENCES problems (id),
  configuration  TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  outcome        TEXT NOT NULL, -- ok: the node may measure it
  predicted_us   REAL NOT NULL,
  compile_ms     REAL NOT NULL,
  vgpr           INTEGER,
  agpr           INTEGER,
  sgpr           INTEGER,
  lds_bytes      INTEGER,
  scratch_bytes  INTEGER,
  spills         INTEGER,
  occupancy      INTEGER,
  error          TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  UNIQUE (environment_id, problem_id, source_hash, configuration)
);
-- The shortlist of a problem is the head of its range.
CREATE INDEX offline_trials_by_time ON offline_trials (problem_id, source_hash, predicted_us) WHERE outcome = 'ok';
)sql";

// What the winners were compiled to. An object is dropped when the last trial that has it wins no more.
constexpr std::string_view version_4 = R"sql(
CREATE TABLE code_objects (
  hash             TEXT PRIMARY KEY, -- of the code as it is loaded
  arch             TEXT NOT NULL,
  compiler         TEXT NOT NULL,
  compiler_version TEXT NOT NULL,
  bytes            INTEGER NOT NULL, -- as it is loaded
  code             BLOB NOT NULL     -- deflated (zlib)
);
CREATE TABLE trial_code (
  trial_id    INTEGER PRIMARY KEY REFERENCES trials (id),
  code_hash   TEXT NOT NULL REFERENCES code_objects (hash),
  request_key TEXT NOT NULL -- hash of compiler, options and source
);
CREATE INDEX trial_code_by_request ON trial_code (request_key);
CREATE INDEX trial_code_by_hash ON trial_code (code_hash);
)sql";

// How the device was while a trial was timed; and a configuration that is tried again counts with its newest trial, so
// that finalists, which are measured once more beside each other, win by that comparison.
constexpr std::string_view version_5 = R"sql(
ALTER TABLE trials ADD COLUMN clock_mhz INTEGER;
ALTER TABLE trials ADD COLUMN power_w INTEGER;
ALTER TABLE trials ADD COLUMN temperature_c INTEGER;
ALTER TABLE trials ADD COLUMN throttled INTEGER; -- samples that were taken again

DROP VIEW winners;
CREATE VIEW winners AS
SELECT t.id, e.id AS environment_id, p.id AS problem_id, p.op, p.dtype, p.dims, t.configuration, t.source_hash, t.median_us,
       t.samples_us, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes, t.spills, t.occupancy, t.created_at
FROM environments e
JOIN problems p
JOIN sources s ON s.op = p.op
JOIN trials t ON t.id = (SELECT b.id FROM trials b
                         WHERE b.outcome = 'ok' AND b.environment_id = e.id AND b.problem_id = p.id
                           AND b.source_hash = s.current_hash
                           AND NOT EXISTS (SELECT 1 FROM trials n
                                           WHERE n.environment_id = b.environment_id AND n.problem_id = b.problem_id
                                             AND n.source_hash = b.source_hash AND n.configuration = b.configuration
                                             AND (n.created_at, n.id) > (b.created_at, b.id))
                         ORDER BY b.median_us, b.id LIMIT 1);
)sql";

// What other implementations publish, and where a trial was made.
constexpr std::string_view version_6 = R"sql(
-- Rows of other stacks' tuned tables. They are never candidates: winners come from trials alone.
CREATE TABLE published_times (
  id             INTEGER PRIMARY KEY,
  implementation TEXT NOT NULL,    -- "aiter"
  arch           TEXT NOT NULL,
  cu_count       INTEGER NOT NULL,
  problem_id     INTEGER NOT NULL REFERENCES problems (id),
  us             REAL NOT NULL,
  kernel         TEXT NOT NULL,    -- the implementation's name for it
  header         TEXT NOT NULL,    -- first line of the table that the row comes from
  line           TEXT NOT NULL,    -- the row as it was: what export writes
  origin         TEXT NOT NULL,    -- file name
  created_at     TEXT NOT NULL,
  UNIQUE (implementation, header, line)
);
CREATE INDEX published_times_by_problem ON published_times (arch, cu_count, problem_id, us);

ALTER TABLE trials ADD COLUMN machine TEXT NOT NULL DEFAULT ''; -- where it was made; empty: not recorded

-- When it was said last that these are the sources: of two databases that name different ones the later one counts.
ALTER TABLE sources ADD COLUMN said_at TEXT NOT NULL DEFAULT '';
UPDATE sources SET said_at = ifnull((SELECT max(t.created_at) FROM trials t JOIN problems p ON p.id = t.problem_id
                                     WHERE p.op = sources.op AND t.source_hash = sources.current_hash), '');
)sql";

constexpr std::string_view steps_in_order[] = {version_1, version_2, version_3, version_4,
                                               version_5, version_6, version_7};

std::string_view text_of(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<size_t>(sqlite3_value_bytes(value)));
}

/// Functions that the steps call. Samples that cannot be read stay the text that they are: 'db verify' names them.
void add_functions(sqlite::Connection& connection) {
  const auto hash = [](sqlite3_context* context, int, sqlite3_value** values) {
    sqlite3_result_int64(context, text_hash(text_of(values[0])));
  };
  const auto pack = [](sqlite3_context* context, int, sqlite3_value** values) {
    try {
      const auto bytes = pack_samples(samples_from_text(text_of(values[0])));
      sqlite3_result_blob64(context, bytes.empty() ? static_cast<const void*>("") : bytes.data(), bytes.size(),
                            SQLITE_TRANSIENT);
    } catch (const Error&) {
      sqlite3_result_value(context, values[0]);
    }
  };
  constexpr int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  sqlite3* const handle = connection.get();
  sqlite3_create_function_v2(handle, "text_hash", 1, flags, nullptr, hash, nullptr, nullptr, nullptr);
  sqlite3_create_function_v2(handle, "packed_samples", 1, flags, nullptr, pack, nullptr, nullptr, nullptr);
}

[[noreturn]] void fail_newer(const sqlite::Connection& connection, int found, int known) {
  fail(ErrorKind::incompatible,
       "database {}: has schema version {}, this wavetune knows up to {}; use the wavetune that wrote it, or a newer "
       "one",
       connection.path().string(), found, known);
}

}  // namespace

std::int64_t text_hash(std::string_view text) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size())));
}

std::span<const std::string_view> migration_steps() { return steps_in_order; }

int current_schema_version() { return static_cast<int>(migration_steps().size()); }

int read_schema_version(sqlite::Connection& connection) {
  // One statement, so that all three come from one state of the file while another process may be creating it.
  sqlite::Statement query(connection,
                          "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
                          "FROM pragma_user_version, pragma_application_id");
  query.step();
  const auto version = static_cast<int>(query.integer(0));
  const std::int64_t owner = query.integer(1);
  const bool empty = query.integer(2) == 0 && owner == 0 && version == 0;
  if (owner != application_id && !empty) {
    fail(ErrorKind::bad_data, "database {}: a SQLite file, but not of wavetune; check the path",
         connection.path().string());
  }
  return version;
}

void migrate(sqlite::Connection& connection, std::span<const std::string_view> steps) {
  const int last = static_cast<int>(steps.size());
  if (read_schema_version(connection) == last) return;
  sqlite::Transaction transaction(connection);
  // Read again under the lock: another process may have migrated meanwhile.
  const int version = read_schema_version(connection);
  if (version > last) fail_newer(connection, version, last);
  add_functions(connection);
  try {
    for (int step = version; step < last; ++step) connection.execute(std::string(steps[static_cast<size_t>(step)]));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) throw;
    fail(ErrorKind::bad_data,
         "database {}: says that it has schema version {}, but is not like that, and stays as it is ({}); restore a "
         "copy or an export",
         connection.path().string(), version, error.what());
  }
  connection.execute(fmt::format("PRAGMA application_id={}", application_id));
  connection.execute(fmt::format("PRAGMA user_version={}", last));
  transaction.commit();
}

void require_current_schema(sqlite::Connection& connection) {
  const int version = read_schema_version(connection);
  const std::string file = connection.path().string();
  if (version > current_schema_version()) fail_newer(connection, version, current_schema_version());
  if (version == 0) fail(ErrorKind::bad_data, "database {}: is empty; 'wavetune tune --db FILE' fills one", file);
  if (version < current_schema_version()) {
    fail(ErrorKind::incompatible,
         "database {}: has schema version {}, this wavetune reads {}; run 'wavetune db upgrade --db {}'", file, version,
         current_schema_version(), file);
  }
}

}  // namespace wavetune::db
