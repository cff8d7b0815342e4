-- Version 1: what was run, on what, with what result. docs/store.md documents the views; tables may change, views not.
--
-- step.id and step_call.id carry run and step in one integer, so that the rows of a run lie together without a second
-- index: id = run << 36 | step << 4 (| kind for step_call).

CREATE TABLE meta (
  tag TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE call_kind (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO call_kind (id, name) VALUES
  (0, 'reserve'), (1, 'address_free'), (2, 'create'), (3, 'release'), (4, 'map'), (5, 'unmap'), (6, 'set_access'),
  (7, 'wait'), (8, 'record'), (9, 'shadow_alloc'), (10, 'shadow_free'), (11, 'copy'), (12, 'capture'), (13, 'update'),
  (14, 'launch');

CREATE TABLE run_phase (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO run_phase (id, name) VALUES (0, 'steps'), (1, 'cleanup'), (2, 'teardown'), (3, 'allocator');

CREATE TABLE trace (
  id INTEGER PRIMARY KEY,
  xxh3 TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  identity TEXT NOT NULL,
  steps INTEGER NOT NULL,
  events INTEGER NOT NULL,
  lost_events INTEGER NOT NULL,
  starts_mid_life INTEGER NOT NULL,
  complete INTEGER NOT NULL,
  extdata TEXT NOT NULL
) STRICT;

CREATE TABLE program (
  id INTEGER PRIMARY KEY,
  trace INTEGER NOT NULL REFERENCES trace (id),
  number INTEGER NOT NULL,
  module TEXT NOT NULL,
  device INTEGER NOT NULL,
  commands INTEGER NOT NULL,
  churn_steps_per_column INTEGER,
  UNIQUE (trace, number, module, device)
) STRICT;

CREATE TABLE slot (
  program INTEGER NOT NULL REFERENCES program (id),
  position INTEGER NOT NULL,
  slot_index INTEGER NOT NULL,
  size INTEGER NOT NULL,
  space INTEGER NOT NULL,
  kind TEXT NOT NULL,
  access TEXT NOT NULL,
  PRIMARY KEY (program, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE churn (
  program INTEGER NOT NULL REFERENCES program (id),
  step_column INTEGER NOT NULL,
  position INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  PRIMARY KEY (program, step_column, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE build (
  id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,
  git_revision TEXT NOT NULL,
  git_dirty INTEGER NOT NULL,
  compiler TEXT NOT NULL,
  build_type TEXT NOT NULL,
  sanitizers TEXT NOT NULL,
  UNIQUE (version, git_revision, git_dirty, compiler, build_type, sanitizers)
) STRICT;

CREATE TABLE host (
  id INTEGER PRIMARY KEY,
  extdata TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE cost_profile (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  quality TEXT NOT NULL,
  version TEXT NOT NULL,
  origin TEXT NOT NULL,
  date TEXT NOT NULL,
  device TEXT NOT NULL,
  params TEXT NOT NULL,
  UNIQUE (name, quality, version, origin, date, device, params)
) STRICT;

CREATE TABLE strategy (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE campaign (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  seed INTEGER NOT NULL,
  plan TEXT NOT NULL
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'failed', 'interrupted')),
  start INTEGER NOT NULL,
  "end" INTEGER,
  program INTEGER NOT NULL REFERENCES program (id),
  strategy INTEGER NOT NULL REFERENCES strategy (id),
  resolved TEXT NOT NULL DEFAULT '',
  backend TEXT NOT NULL,
  measured INTEGER NOT NULL CHECK (measured IN (0, 1)),
  driver_profile TEXT NOT NULL,
  cost_profile INTEGER REFERENCES cost_profile (id),
  build INTEGER NOT NULL REFERENCES build (id),
  host INTEGER NOT NULL REFERENCES host (id),
  campaign INTEGER REFERENCES campaign (id),
  cell TEXT NOT NULL,
  position INTEGER,
  tag TEXT NOT NULL,
  devices INTEGER NOT NULL,
  granularity INTEGER NOT NULL,
  gpu_step_override INTEGER,
  host_step INTEGER NOT NULL,
  run_ahead INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  scale TEXT NOT NULL,
  slot_filter TEXT NOT NULL,
  warmup_steps INTEGER NOT NULL,
  command_line TEXT NOT NULL,
  device_facts TEXT NOT NULL,
  -- What follows is null until the run has ended.
  steps INTEGER,
  failed_steps INTEGER,
  slots INTEGER,
  bytes_mapped INTEGER,
  changed_slot_steps INTEGER,
  peak_reserved INTEGER,
  shadow_bytes INTEGER,
  retained_bytes INTEGER,
  command_buffers INTEGER,
  step_first INTEGER, step_total INTEGER, step_median INTEGER, step_p99 INTEGER,
  remap_first INTEGER, remap_total INTEGER, remap_median INTEGER, remap_p99 INTEGER,
  wait_first INTEGER, wait_total INTEGER, wait_median INTEGER, wait_p99 INTEGER,
  gpu_step INTEGER,
  stale_mappings INTEGER,
  stale_steps INTEGER,
  skips_on_assumption INTEGER,
  verification_failures INTEGER,
  oracle INTEGER,
  unsure_terms TEXT
) STRICT;
CREATE INDEX run_program ON run (program);
CREATE INDEX run_cell ON run (cell) WHERE cell <> '';

CREATE TABLE run_call (
  run INTEGER NOT NULL REFERENCES run (id),
  phase INTEGER NOT NULL REFERENCES run_phase (id),
  kind INTEGER NOT NULL REFERENCES call_kind (id),
  n INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  PRIMARY KEY (run, phase, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_stat (
  run INTEGER NOT NULL REFERENCES run (id),
  kind INTEGER NOT NULL REFERENCES call_kind (id),
  size_class INTEGER NOT NULL,
  n INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  PRIMARY KEY (run, kind, size_class)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
  run INTEGER NOT NULL REFERENCES run (id),
  metric TEXT NOT NULL,
  n INTEGER NOT NULL,
  min INTEGER NOT NULL,
  q1 INTEGER NOT NULL,
  median INTEGER NOT NULL,
  q3 INTEGER NOT NULL,
  p99 INTEGER NOT NULL,
  max INTEGER NOT NULL,
  mean INTEGER NOT NULL,
  mad INTEGER NOT NULL,
  PRIMARY KEY (run, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
  id INTEGER PRIMARY KEY,
  count INTEGER NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  changed_slots INTEGER NOT NULL,
  remap INTEGER NOT NULL,
  wait INTEGER NOT NULL,
  retained_bytes INTEGER NOT NULL,
  stale_slots INTEGER NOT NULL,
  failed INTEGER NOT NULL
) STRICT;

CREATE TABLE step_call (
  id INTEGER PRIMARY KEY,
  n INTEGER NOT NULL,
  duration INTEGER NOT NULL
) STRICT;

-- call.id = run << 36 | number of the call within its run.
CREATE TABLE call (
  id INTEGER PRIMARY KEY,
  step INTEGER NOT NULL,
  phase INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  slot INTEGER,
  address INTEGER NOT NULL,
  size INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  device INTEGER NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  predicted INTEGER
) STRICT;

CREATE TABLE fault (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  step INTEGER NOT NULL,
  phase INTEGER NOT NULL REFERENCES run_phase (id),
  kind INTEGER NOT NULL REFERENCES call_kind (id),
  slot INTEGER,
  code TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;

CREATE TABLE mismatch (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  step INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  expected INTEGER NOT NULL,
  found INTEGER NOT NULL
) STRICT;

CREATE TABLE diagnostic (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  severity TEXT NOT NULL CHECK (severity IN ('note', 'warning', 'error')),
  message TEXT NOT NULL
) STRICT;

CREATE TABLE residual (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  metric TEXT NOT NULL,
  size INTEGER NOT NULL,
  n INTEGER NOT NULL,
  predicted INTEGER NOT NULL,
  measured INTEGER NOT NULL
) STRICT;

CREATE VIEW v_run AS
SELECT
  run.id AS run_id, run.uuid, run.status, run.status <> 'running' AS finished, run.tag,
  trace.name AS trace, trace.xxh3 AS trace_xxh3, program.number AS program, program.module, program.device,
  strategy.name AS strategy, run.resolved, run.backend, run.measured, run.driver_profile,
  coalesce(cost_profile.name, '') AS cost_profile, coalesce(cost_profile.quality, '') AS cost_profile_quality,
  run.devices, run.granularity, run.steps, run.failed_steps, run.slots, run.bytes_mapped, run.changed_slot_steps,
  run.peak_reserved, run.shadow_bytes, run.retained_bytes, run.command_buffers,
  run.step_first AS step_ns_first, run.step_total AS step_ns_total, run.step_median AS step_ns_median,
  run.step_p99 AS step_ns_p99,
  run.remap_first AS remap_ns_first, run.remap_total AS remap_ns_total, run.remap_median AS remap_ns_median,
  run.remap_p99 AS remap_ns_p99,
  run.wait_first AS wait_ns_first, run.wait_total AS wait_ns_total, run.wait_median AS wait_ns_median,
  run.wait_p99 AS wait_ns_p99,
  run.gpu_step AS gpu_step_ns, run.oracle AS oracle_ns, run.stale_mappings, run.stale_steps, run.skips_on_assumption,
  run.verification_failures, run.unsure_terms,
  run.gpu_step_override AS gpu_step_option_ns, run.host_step AS host_step_ns, run.run_ahead, run.seed, run.scale,
  run.slot_filter, run.warmup_steps, run.position, run.cell, campaign.uuid AS campaign,
  build.version, build.git_revision, build.git_dirty, build.compiler, build.build_type, build.sanitizers,
  host.extdata AS host, run.device_facts, run.command_line,
  run.start, run."end", run."end" - run.start AS duration
FROM run
JOIN program ON program.id = run.program
JOIN trace ON trace.id = program.trace
JOIN strategy ON strategy.id = run.strategy
JOIN build ON build.id = run.build
JOIN host ON host.id = run.host
LEFT JOIN cost_profile ON cost_profile.id = run.cost_profile
LEFT JOIN campaign ON campaign.id = run.campaign;

CREATE VIEW v_step AS
SELECT
  run.id AS run_id, step.id >> 4 & 0xffffffff AS step, step.count, step.start, step."end",
  step."end" - step.start AS duration, step.calls, step.changed_slots, step.remap AS remap_ns, step.wait AS wait_ns,
  step.retained_bytes, step.stale_slots, step.failed
FROM run CROSS JOIN step ON step.id BETWEEN run.id << 36 AND (run.id + 1 << 36) - 1;

CREATE VIEW v_call_counts AS
SELECT
  run.id AS run_id, program.module, program.device, strategy.name AS strategy, run_phase.name AS phase,
  call_kind.name AS kind, coalesce(run_call.n, 0) AS n, coalesce(run_call.duration, 0) AS duration
FROM run
JOIN program ON program.id = run.program
JOIN strategy ON strategy.id = run.strategy
CROSS JOIN run_phase
CROSS JOIN call_kind
LEFT JOIN run_call ON run_call.run = run.id AND run_call.phase = run_phase.id AND run_call.kind = call_kind.id
WHERE run.steps IS NOT NULL AND (run_phase.name = 'steps' OR run_call.n > 0);
