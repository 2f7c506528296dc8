// Schema version 7: trials in half the space, and verdicts in the choice of winners.
#pragma once

#include <string_view>

namespace wavetune::db {

/// Needs the SQL functions text_hash and packed_samples (schema.cpp).
///
/// A million trials took 625 MB: each had the text of its configuration twice (table and index) and the hash of its
/// sources three times. Both texts are now stored once; rows and indexes have their numbers. `trials` is a view that
/// puts the texts back.
inline constexpr std::string_view version_7 = R"sql(
CREATE TABLE configurations (
  id   INTEGER PRIMARY KEY,
  hash INTEGER NOT NULL, -- 32 bits of the text's hash: an index over the texts would store them again
  text TEXT NOT NULL     -- "bk=16,bm=64"; each once
);
CREATE INDEX configurations_by_hash ON configurations (hash);
INSERT INTO configurations (hash, text)
SELECT text_hash(configuration), configuration FROM trials GROUP BY configuration ORDER BY min(id);

CREATE TABLE source_hashes (
  id   INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE
);
INSERT INTO source_hashes (hash) SELECT source_hash FROM trials GROUP BY source_hash ORDER BY min(id);

-- Appended; only gc deletes.
CREATE TABLE measurements (
  id               INTEGER PRIMARY KEY,
  environment_id   INTEGER NOT NULL REFERENCES environments (id),
  problem_id       INTEGER NOT NULL REFERENCES problems (id),
  source_id        INTEGER NOT NULL REFERENCES source_hashes (id),
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  outcome          TEXT NOT NULL,
  median_us        REAL NOT NULL,
  samples_us       BLOB NOT NULL, -- doubles, little-endian
  compile_ms       REAL NOT NULL,
  max_error        REAL NOT NULL, -- infinity when the numbers were not finite
  vgpr             INTEGER,
  agpr             INTEGER,
  sgpr             INTEGER,
  lds_bytes        INTEGER,
  scratch_bytes    INTEGER,
  spills           INTEGER,
  occupancy        INTEGER,
  clock_mhz        INTEGER,
  power_w          INTEGER,
  temperature_c    INTEGER,
  throttled        INTEGER,
  error            TEXT NOT NULL,
  created_at       TEXT NOT NULL,
  machine          TEXT NOT NULL DEFAULT ''
);
INSERT INTO measurements
SELECT t.id, t.environment_id, t.problem_id, h.id, c.id, t.outcome, t.median_us, packed_samples(t.samples_us),
       t.compile_ms, t.max_error, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes, t.spills, t.occupancy,
       t.clock_mhz, t.power_w, t.temperature_c, t.throttled, t.error, t.created_at, t.machine
FROM trials t
JOIN configurations c ON c.hash = text_hash(t.configuration) AND c.text = t.configuration
JOIN source_hashes h ON h.hash = t.source_hash
ORDER BY t.id;

CREATE TABLE trial_code_7 (
  trial_id    INTEGER PRIMARY KEY REFERENCES measurements (id),
  code_hash   TEXT NOT NULL REFERENCES code_objects (hash),
  request_key TEXT NOT NULL -- hash of compiler, options and source
);
INSERT INTO trial_code_7 SELECT trial_id, code_hash, request_key FROM trial_code;

DROP VIEW winners;
DROP TABLE trial_code;
DROP TABLE trials;
ALTER TABLE trial_code_7 RENAME TO trial_code;
CREATE INDEX trial_code_by_request ON trial_code (request_key);
CREATE INDEX trial_code_by_hash ON trial_code (code_hash);

-- The fastest of a problem is the first entry of its range.
CREATE INDEX measurements_by_time ON measurements (environment_id, problem_id, source_id, median_us)
WHERE outcome = 'ok';
-- Which configurations of a problem have been tried (resume, import), which of their trials is the newest, and how much
-- time they took (budgets).
CREATE INDEX measurements_by_configuration
ON measurements (environment_id, problem_id, source_id, configuration_id, created_at);
-- Of each configuration the trial that counts. Ties are decided by what the rows say, not by their ids: databases that
-- were merged in another order agree.
CREATE VIEW newest_measurements AS
SELECT m.id, m.environment_id, m.problem_id, m.source_id, m.configuration_id, m.outcome, m.median_us, m.created_at
FROM measurements m
WHERE NOT EXISTS (SELECT 1 FROM measurements n
                  WHERE n.environment_id = m.environment_id AND n.problem_id = m.problem_id
                    AND n.source_id = m.source_id AND n.configuration_id = m.configuration_id
                    AND (n.created_at, n.median_us, n.machine, n.outcome, n.id) >
                        (m.created_at, m.median_us, m.machine, m.outcome, m.id));
-- Rows with their texts, for reading.
CREATE VIEW trials AS
SELECT m.id, m.environment_id, m.problem_id, c.text AS configuration, h.hash AS source_hash, m.outcome, m.median_us,
       m.samples_us, m.compile_ms, m.max_error, m.vgpr, m.agpr, m.sgpr, m.lds_bytes, m.scratch_bytes, m.spills,
       m.occupancy, m.clock_mhz, m.power_w, m.temperature_c, m.throttled, m.error, m.created_at, m.machine
FROM measurements m
JOIN configurations c ON c.id = m.configuration_id
JOIN source_hashes h ON h.id = m.source_id;

-- What a person decided. The newest row of a configuration counts; the older ones are kept with their reasons.
CREATE TABLE verdicts (
  id               INTEGER PRIMARY KEY,
  environment_id   INTEGER NOT NULL REFERENCES environments (id),
  problem_id       INTEGER NOT NULL REFERENCES problems (id),
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  verdict          TEXT NOT NULL, -- pin: wins, whatever is faster; ban: never wins; none: takes either back
  reason           TEXT NOT NULL,
  created_at       TEXT NOT NULL
);
CREATE UNIQUE INDEX verdicts_by_configuration
ON verdicts (environment_id, problem_id, configuration_id, created_at, verdict, reason);
CREATE VIEW verdicts_in_force AS
SELECT v.id, v.environment_id, v.problem_id, v.configuration_id, v.verdict, v.reason, v.created_at
FROM verdicts v
WHERE v.verdict <> 'none'
  AND NOT EXISTS (SELECT 1 FROM verdicts n
                  WHERE n.environment_id = v.environment_id AND n.problem_id = v.problem_id
                    AND n.configuration_id = v.configuration_id AND (n.created_at, n.verdict, n.reason) > (v.created_at, v.verdict, v.reason));

-- Of each problem in each environment: the configuration pinned last that has an ok trial of the operator's current
-- sources, else the fastest of those trials whose configuration is not banned. It starts from environments x problems, not from the trials, so that its cost does not grow with their number.
CREATE VIEW winners AS
SELECT t.id, e.id AS environment_id, p.id AS problem_id, p.op, p.dtype, p.dims, c.text AS configuration,
       h.hash AS source_hash, t.median_us, t.samples_us, t.vgpr, t.agpr, t.sgpr, t.lds_bytes, t.scratch_bytes,
       t.spills, t.occupancy, t.created_at
FROM environments e
JOIN problems p
JOIN sources s ON s.op = p.op
JOIN source_hashes h ON h.hash = s.current_hash
JOIN measurements t ON t.id = coalesce(
  (SELECT b.id
   FROM verdicts_in_force v
   CROSS JOIN newest_measurements b ON b.environment_id = v.environment_id AND b.problem_id = v.problem_id
                      AND b.source_id = h.id AND b.configuration_id = v.configuration_id AND b.outcome = 'ok'
   WHERE v.environment_id = e.id AND v.problem_id = p.id AND v.verdict = 'pin'
   ORDER BY v.created_at DESC, (SELECT text FROM configurations WHERE id = b.configuration_id), b.id LIMIT 1),
  (SELECT b.id
   FROM newest_measurements b
   WHERE b.outcome = 'ok' AND b.environment_id = e.id AND b.problem_id = p.id AND b.source_id = h.id
     AND NOT EXISTS (SELECT 1 FROM verdicts_in_force v
                     WHERE v.environment_id = b.environment_id AND v.problem_id = b.problem_id
                       AND v.configuration_id = b.configuration_id AND v.verdict = 'ban')
   ORDER BY b.median_us, b.created_at, (SELECT text FROM configurations WHERE id = b.configuration_id), b.id
   LIMIT 1))
JOIN configurations c ON c.id = t.configuration_id;
)sql";

}  // namespace wavetune::db
