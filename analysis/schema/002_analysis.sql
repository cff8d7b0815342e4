-- Version 2: verdicts of compare and gate, baselines that moved on purpose, and the remaining views.

CREATE TABLE verdict (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  time INTEGER NOT NULL,
  gate TEXT NOT NULL,
  pair TEXT NOT NULL,
  rule TEXT NOT NULL,
  rule_version INTEGER NOT NULL,
  metric TEXT NOT NULL,
  base_runs TEXT NOT NULL,
  cand_runs TEXT NOT NULL,
  base_value REAL,
  cand_value REAL,
  ratio REAL,
  low REAL,
  high REAL,
  p REAL,
  floor REAL,
  seed INTEGER,
  result TEXT NOT NULL CHECK (result IN ('pass', 'improvement', 'regression', 'ambiguous', 'invalid')),
  reason TEXT NOT NULL
) STRICT;

-- A run that somebody made the baseline, and why.
CREATE TABLE acceptance (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  time INTEGER NOT NULL,
  run INTEGER NOT NULL REFERENCES run (id),
  reason TEXT NOT NULL
) STRICT;
CREATE INDEX acceptance_run ON acceptance (run);

CREATE VIEW v_call AS
SELECT
  run.id AS run_id, call.step, call.id & 0xfffffffff AS seq, run_phase.name AS phase, call_kind.name AS kind,
  call.slot, call.address, call.size, call.chunks, call.device, call.start, call."end",
  call."end" - call.start AS duration, call.failed, call.predicted AS predicted_ns
FROM run
CROSS JOIN call ON call.id BETWEEN run.id << 36 AND (run.id + 1 << 36) - 1
JOIN run_phase ON run_phase.id = call.phase
JOIN call_kind ON call_kind.id = call.kind;

CREATE VIEW v_step_call AS
SELECT
  run.id AS run_id, step_call.id >> 4 & 0xffffffff AS step, call_kind.name AS kind, step_call.n, step_call.duration
FROM run
CROSS JOIN step_call ON step_call.id BETWEEN run.id << 36 AND (run.id + 1 << 36) - 1
JOIN call_kind ON call_kind.id = step_call.id & 15;

CREATE VIEW v_compare AS
SELECT
  base.run_id AS base_run_id, cand.run_id AS cand_run_id, base.trace, base.module, base.device, base.backend,
  base.cost_profile, base.strategy AS base_strategy, cand.strategy AS cand_strategy,
  base.git_revision AS base_git_revision, cand.git_revision AS cand_git_revision,
  base.step_ns_median AS base_step_ns_median, cand.step_ns_median AS cand_step_ns_median,
  base.step_ns_total AS base_step_ns_total, cand.step_ns_total AS cand_step_ns_total,
  base.step_ns_total - cand.step_ns_total AS saved_ns_total,
  1.0 * base.step_ns_total / nullif(cand.step_ns_total, 0) AS speedup,
  (SELECT sum(n) FROM run_call WHERE run = base.run_id AND phase = 0) AS base_calls,
  (SELECT sum(n) FROM run_call WHERE run = cand.run_id AND phase = 0) AS cand_calls,
  base.peak_reserved AS base_peak_reserved, cand.peak_reserved AS cand_peak_reserved,
  cand.shadow_bytes AS cand_shadow_bytes, cand.retained_bytes AS cand_retained_bytes
FROM v_run AS base
JOIN v_run AS cand
  ON cand.trace_xxh3 = base.trace_xxh3 AND cand.program = base.program AND cand.module = base.module
  AND cand.device = base.device AND cand.backend = base.backend AND cand.driver_profile = base.driver_profile
  AND cand.cost_profile = base.cost_profile AND cand.devices = base.devices AND cand.granularity = base.granularity
  AND cand.scale = base.scale AND cand.slot_filter = base.slot_filter AND cand.run_ahead = base.run_ahead
  AND cand.host_step_ns = base.host_step_ns AND cand.gpu_step_option_ns IS base.gpu_step_option_ns
  AND cand.steps = base.steps
WHERE cand.run_id <> base.run_id AND base.status = 'finished' AND cand.status = 'finished';

-- How far predictions are off: what a cost profile says of itself, what calibration stored, and simulated runs beside
-- measured ones of the same program, strategy and configuration, per kind of call and for the whole step.
CREATE VIEW v_residual AS
WITH pair AS (
  SELECT model.run_id AS model_run, measured.run_id AS measured_run, model.cost_profile, model.trace, model.module,
    model.strategy, model.step_ns_median AS model_step, measured.step_ns_median AS measured_step
  FROM v_run AS model
  JOIN v_run AS measured
    ON measured.trace_xxh3 = model.trace_xxh3 AND measured.program = model.program AND measured.module = model.module
    AND measured.device = model.device AND measured.strategy = model.strategy AND measured.devices = model.devices
    AND measured.granularity = model.granularity AND measured.scale = model.scale
    AND measured.slot_filter = model.slot_filter AND measured.steps = model.steps
  WHERE NOT model.measured AND model.cost_profile <> '' AND measured.measured
    AND model.status = 'finished' AND measured.status = 'finished'
), residuals AS (
  SELECT
    'profile' AS source, NULL AS run_id, NULL AS model_run_id, name AS cost_profile, NULL AS trace, NULL AS module,
    NULL AS strategy, json_extract(entry.value, '$.kind') AS metric, json_extract(entry.value, '$.what') AS detail, 1 AS n,
    json_extract(entry.value, '$.predicted_ns') AS predicted_ns,
    json_extract(entry.value, '$.measured_ns') AS measured_ns
  FROM cost_profile, json_each(iif(json_valid(params), params, '{}'), '$.residuals') AS entry
  UNION ALL
  SELECT
    'calibration', residual.run, NULL, v_run.cost_profile, v_run.trace, v_run.module, v_run.strategy, residual.metric,
    iif(residual.size > 0, residual.size || ' bytes', 'all sizes'), residual.n, 1.0 * residual.predicted / residual.n,
    1.0 * residual.measured / residual.n
  FROM residual JOIN v_run ON v_run.run_id = residual.run
  WHERE residual.n > 0
  UNION ALL
  SELECT
    'pair', pair.measured_run, pair.model_run, pair.cost_profile, pair.trace, pair.module, pair.strategy,
    call_kind.name, 'mean of its calls', measured.n, 1.0 * model.duration / model.n, 1.0 * measured.duration / measured.n
  FROM pair
  JOIN run_call AS model ON model.run = pair.model_run AND model.phase = 0 AND model.n > 0
  JOIN run_call AS measured ON measured.run = pair.measured_run AND measured.phase = 0 AND measured.kind = model.kind
    AND measured.n > 0
  JOIN call_kind ON call_kind.id = model.kind
  UNION ALL
  SELECT
    'pair', measured_run, model_run, cost_profile, trace, module, strategy, 'step', 'median', 1, model_step,
    measured_step
  FROM pair
)
SELECT *, 1.0 * measured_ns / nullif(predicted_ns, 0) - 1 AS error FROM residuals;

CREATE VIEW v_verdict AS
SELECT
  id AS verdict_id, time, gate, pair, metric, result, base_value, cand_value, ratio, low, high, p, floor, seed, rule,
  rule_version, reason, base_runs, cand_runs
FROM verdict;

CREATE VIEW v_fault AS
SELECT
  fault.run AS run_id, fault.step, run_phase.name AS phase, call_kind.name AS kind, fault.slot, fault.code,
  fault.message
FROM fault
JOIN run_phase ON run_phase.id = fault.phase
JOIN call_kind ON call_kind.id = fault.kind;

CREATE VIEW v_diagnostic AS SELECT run AS run_id, severity, message FROM diagnostic;

-- rocpd's shape, so that queries written for it run here. A call has the name of the HIP function that makes it; pid
-- and tid are the run's number, guid its uuid.
CREATE VIEW regions AS
SELECT
  call.id, run.uuid AS guid, 'HIP_RUNTIME_API' AS category,
  CASE call_kind.name
    WHEN 'reserve' THEN 'hipMemAddressReserve' WHEN 'address_free' THEN 'hipMemAddressFree'
    WHEN 'create' THEN 'hipMemCreate' WHEN 'release' THEN 'hipMemRelease' WHEN 'map' THEN 'hipMemMap'
    WHEN 'unmap' THEN 'hipMemUnmap' WHEN 'set_access' THEN 'hipMemSetAccess' WHEN 'wait' THEN 'hipEventSynchronize'
    WHEN 'record' THEN 'hipEventRecord' WHEN 'shadow_alloc' THEN 'hipMalloc' WHEN 'shadow_free' THEN 'hipFree'
    WHEN 'copy' THEN 'hipMemcpyAsync' WHEN 'capture' THEN 'hipGraphInstantiate'
    WHEN 'update' THEN 'hipGraphExecMemcpyNodeSetParams1D' WHEN 'launch' THEN 'hipGraphLaunch'
  END AS name,
  0 AS nid, run.id AS pid, run.id AS tid, call.start, call."end", call."end" - call.start AS duration,
  call.id AS event_id, 0 AS stack_id, 0 AS parent_stack_id, call.id & 0xfffffffff AS corr_id,
  json_object('step', call.step, 'slot', call.slot, 'address', call.address, 'size', call.size, 'chunks', call.chunks,
    'failed', call.failed) AS extdata
FROM run
CROSS JOIN call ON call.id BETWEEN run.id << 36 AND (run.id + 1 << 36) - 1
JOIN call_kind ON call_kind.id = call.kind;

CREATE VIEW memory_allocations AS
SELECT
  call.id, run.uuid AS guid, 'MEMORY_ALLOCATION' AS category, 0 AS nid, run.id AS pid, run.id AS tid, call.start,
  call."end", call."end" - call.start AS duration,
  CASE WHEN call_kind.name IN ('create', 'reserve', 'shadow_alloc') THEN 'ALLOC' ELSE 'FREE' END AS type,
  CASE WHEN call_kind.name IN ('reserve', 'address_free') THEN 'VIRTUAL' ELSE 'REAL' END AS level,
  call.device AS agent_id, call.address, call.size, call.id AS event_id
FROM run
CROSS JOIN call ON call.id BETWEEN run.id << 36 AND (run.id + 1 << 36) - 1
JOIN call_kind ON call_kind.id = call.kind
WHERE call_kind.name IN ('create', 'release', 'reserve', 'address_free', 'shadow_alloc', 'shadow_free');
