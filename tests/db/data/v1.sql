-- A database that schema version 1 wrote (sqlite3 .dump). Never made anew: it stands for files in the field.
PRAGMA application_id=2004251758;
PRAGMA user_version=1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
INSERT INTO environments VALUES(1,'AMD Instinct MI355X','gfx950',256,'hip 7.2','hiprtc','7.2');
CREATE TABLE problems (
  id    INTEGER PRIMARY KEY,
  op    TEXT NOT NULL,
  dtype TEXT NOT NULL,
  dims  TEXT NOT NULL,          -- "k=2048,m=16,n=4096"
  UNIQUE (op, dtype, dims)
);
INSERT INTO problems VALUES(1,'gemm','bf16','batch=1,k=2048,m=16,n=4096');
CREATE TABLE sources (
  op           TEXT PRIMARY KEY,
  current_hash TEXT NOT NULL
);
INSERT INTO sources VALUES('gemm','aaaa');
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
INSERT INTO trials VALUES(1,1,1,'bm=64,bn=128','aaaa','ok',12.5,'[12.5,12.75,12.25]',321.25,0.125,128,NULL,NULL,65536,NULL,0,'','2026-08-01T12:00:00.000Z');
INSERT INTO trials VALUES(2,1,1,'bm=32,bn=128','aaaa','ok',20.0,'[12.5,12.75,12.25]',321.25,0.125,128,NULL,NULL,65536,NULL,0,'','2026-08-01T12:00:01.000Z');
INSERT INTO trials VALUES(3,1,1,'bm=16,bn=128','aaaa','compile_error',0.0,'[]',321.25,0.125,128,NULL,NULL,65536,NULL,0,'kernel.hip:7: error: „µs“','2026-08-01T12:00:02.000Z');
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
INSERT INTO layouts VALUES(1,1,'cafe','GLM-5.2',8,'throughput',4,2,'[{"all_reduce_us":0.0,"decode_batch":64,"decode_step_us":1234.5,"decode_tokens_per_s":100000.0,"dp":2,"estimated":["rope/bf16/m=64"],"fits":true,"measured_share":0.75,"memory_bytes_per_device":0.0,"prefill_step_us":0.0,"prefill_tokens":0,"prefill_tokens_per_s":0.0,"reason":"","score":100000.0,"single_stream_tokens_per_s":0.0,"tp":4}]','2026-08-01T13:00:00.000Z');
CREATE INDEX trials_by_time ON trials (environment_id, problem_id, source_hash, median_us, id) WHERE outcome = 'ok';
CREATE INDEX trials_by_configuration ON trials (environment_id, problem_id, source_hash, configuration);
CREATE INDEX layouts_by_model ON layouts (environment_id, model_id, devices, objective, created_at);
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
COMMIT;
