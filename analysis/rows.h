// What a run leaves in the store, as plain values: replay fills these in, the store writes them. Times are integer
// nanoseconds, sizes integer bytes, counts exact. The meaning of every number is that of definitions.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/vocabulary.h"

namespace remaplab {

// Free-form identity of a machine, device or driver: "gpu" -> "NVIDIA H200", "kernel" -> "6.1.0-25-amd64", ...
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// --- What a run is of
// -------------------------------------------------------------------------------------------------

struct TraceInfo {
  std::string xxh3;  // XXH3-128 of the uncompressed bytes, 32 hex digits: the identity
  std::string name;  // file name without folders; for people
  std::string source;
  std::string identity;  // "backing" or "address"
  uint64_t steps = 0;    // over all programs
  uint64_t events = 0;
  uint64_t lost_events = 0;
  bool starts_mid_life = false;
  bool complete = true;  // false: the file was cut off
  std::string meta_json = "{}";
};

struct SlotInfo {
  uint32_t index = 0;  // XLA's allocation index
  uint64_t size = 0;
  uint32_t space = 0;
  SlotKind kind = SlotKind::kUnknown;
  Access access = Access::kUnknown;
};

// How often a slot changed within a stretch of steps; cells without a change are left out.
struct ChurnCell {
  uint32_t slot = 0;  // position in ProgramInfo::slots
  uint32_t column = 0;
  uint32_t changes = 0;
};

// Which slots move when, small enough for a picture whatever the trace's length: steps are binned into at most
// kMaxColumns columns. Filled while replaying, outside timed sections.
class ChurnMap {
 public:
  static constexpr uint32_t kMaxColumns = 256;

  explicit ChurnMap(uint64_t steps = 0);
  // `step` is the ordinal from 1. Call in step order.
  void Add(uint64_t step, uint32_t slot);

  uint64_t steps_per_column() const { return steps_per_column_; }
  // By column, then slot.
  std::vector<ChurnCell> Cells() const;

 private:
  uint64_t steps_per_column_ = 1;
  std::vector<std::vector<uint32_t>> changes_;  // by column, by slot
};

// One program of a trace. Equal (trace, id) is the same program; its slots are written once.
struct ProgramInfo {
  uint32_t id = 0;
  std::string module;
  int32_t device = 0;
  uint32_t commands = 0;        // 0: unknown
  std::vector<SlotInfo> slots;  // of the first declaration
};

struct CostProfileInfo {
  std::string name;     // empty: none (measured backends)
  std::string quality;  // "measured", "fitted", "borrowed", "uncalibrated"
  std::string version;
  std::string origin;
  std::string date;
  std::string device;
  std::string json = "{}";  // the whole profile: two profiles are the same when these bytes are
};

// A sweep or a series of repetitions that belongs together.
struct CampaignInfo {
  std::string uuid;
  uint64_t seed = 0;
  std::string plan_json = "{}";
};

// Everything needed to do the run again. The store adds uuid, start time, and what this binary was built from.
struct RunInfo {
  TraceInfo trace;
  ProgramInfo program;
  std::string strategy;   // canonical text, parameters as the user gave them
  std::string backend;    // "sim", "null", "host", "hip"
  bool measured = false;  // times come from a clock and not from a model
  std::string driver_profile;
  CostProfileInfo cost_profile;
  uint32_t devices = 1;
  uint64_t granularity = 0;
  std::optional<int64_t> gpu_step_ns;  // --gpu-step; empty: from the trace
  int64_t host_step_ns = 0;
  uint64_t run_ahead = 1;
  uint64_t seed = 0;
  std::string scale = "1";          // --scale-sizes
  std::string slot_filter = "all";  // --slots
  uint64_t warmup_steps = 1;        // leading steps that the statistics leave out, fixed before the run
  std::string command_line;
  std::string tag;                  // --tag
  std::optional<int64_t> position;  // place in the order of execution (A B B A ...), for drift
  std::string cell;                 // key of the sweep's cell; empty outside a sweep
  std::optional<CampaignInfo> campaign;
  KeyValues host;    // the machine: cpu, kernel, governor, ...
  KeyValues device;  // the GPU and its driver, clocks before the run, other users
};

// --- What happened
// ----------------------------------------------------------------------------------------------------

struct KindTotal {
  uint64_t n = 0;
  int64_t ns = 0;
};
using KindTotals = std::array<KindTotal, kCallKindCount>;  // indexed by CallKind

// One step, or a stretch of consecutive steps that made no call but launch and record. Measured runs keep one row per
// step, so that medians can be computed again.
struct StepRow {
  uint64_t step = 0;   // ordinal within the run, from 1; of the stretch's first step
  uint64_t count = 1;  // steps in this row
  int64_t start = 0;   // end[k-1] on the run's clock
  int64_t end = 0;     // end[k] of the last step; duration = end - start = the sum of step_ns
  uint64_t calls = 0;  // of all kinds, launch and record included
  uint32_t changed_slots = 0;
  int64_t remap_ns = 0;
  int64_t wait_ns = 0;
  uint64_t retained_bytes = 0;  // after the step
  uint32_t stale_slots = 0;
  bool failed = false;
};

// What one kind of call cost in the step row that it follows; only where n is not zero. launch and record need no row
// when they are exactly one per step: replay leaves them out, and run totals have them.
struct StepCallRow {
  uint64_t step = 0;  // that of a StepRow
  CallKind kind = CallKind::kLaunch;
  uint64_t n = 0;
  int64_t ns = 0;
};

enum class RunPhase : uint8_t { kSteps, kCleanup, kTeardown, kAllocator };  // as backends/phase.h, same order
inline constexpr std::array<std::string_view, 4> kRunPhaseNames = {"steps", "cleanup", "teardown", "allocator"};

// One call; stored on request only (--detail calls).
struct CallRow {
  uint64_t step = 0;
  RunPhase phase = RunPhase::kSteps;
  CallKind kind = CallKind::kLaunch;
  std::optional<uint32_t> slot;  // XLA's allocation index
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t chunks = 1;
  int32_t device = 0;
  int64_t start = 0;
  int64_t end = 0;
  bool failed = false;
  std::optional<int64_t> predicted_ns;  // what a cost profile says it should have cost
};

struct FaultRow {
  uint64_t step = 0;
  RunPhase phase = RunPhase::kSteps;
  CallKind kind = CallKind::kLaunch;
  std::optional<uint32_t> slot;
  std::string code;  // ErrorCodeName
  std::string message;
};

// A launch read other memory than its slot's backing (`verify`).
struct MismatchRow {
  uint64_t step = 0;
  uint32_t slot = 0;
  uint64_t expected = 0;
  uint64_t found = 0;
};

enum class Severity : uint8_t { kNote, kWarning, kError };

struct DiagnosticRow {
  Severity severity = Severity::kNote;
  std::string text;
};

// Prediction against measurement, for calibration runs.
struct ResidualRow {
  std::string metric;  // a call kind, or "step"
  uint64_t size = 0;   // bytes per call; 0 when the row is over all sizes
  uint64_t n = 0;
  int64_t predicted_ns = 0;  // sum over the n
  int64_t measured_ns = 0;
};

// first is step 1; total, median and p99 are over the steps after it (definitions.md section 3).
struct DurationSummary {
  int64_t first = 0;
  int64_t total = 0;
  int64_t median = 0;
  int64_t p99 = 0;
};

// The distribution of one metric within one run, after warm-up. See Summarize in analysis/statistics.h.
struct Distribution {
  uint64_t n = 0;
  int64_t min = 0;
  int64_t q1 = 0;
  int64_t median = 0;
  int64_t q3 = 0;
  int64_t p99 = 0;
  int64_t max = 0;
  int64_t mean = 0;
  int64_t mad = 0;  // median absolute deviation from the median
};

struct SampleRow {
  std::string metric;  // "step", or a call kind's name for the durations of its calls
  Distribution distribution;
};

// Calls of one kind by size: class k holds sizes in (2^(k-1), 2^k], class 0 size 0 and 1.
struct SizeClassRow {
  CallKind kind = CallKind::kLaunch;
  uint32_t size_class = 0;
  uint64_t n = 0;
  int64_t ns = 0;
};

enum class RunStatus : uint8_t { kRunning, kFinished, kFailed, kInterrupted };
inline constexpr std::array<std::string_view, 4> kRunStatusNames = {"running", "finished", "failed", "interrupted"};

struct RunSummary {
  RunStatus status = RunStatus::kFinished;
  std::string resolved;     // what `auto` parameters became
  uint64_t learned_at = 0;  // step with which what a strategy learned took effect; 0: nothing has
  int64_t learning_ns = 0;  // what steps 2 to that one took more than as many (median) steps after it
  uint64_t steps = 0;
  uint64_t failed_steps = 0;
  uint64_t slots = 0;
  uint64_t bytes_mapped = 0;
  uint64_t changed_slot_steps = 0;
  KindTotals calls{};  // over all steps, the first included
  KindTotals teardown{};
  KindTotals cleanup{};
  KindTotals allocator{};
  uint64_t peak_reserved = 0;
  uint64_t shadow_bytes = 0;
  uint64_t retained_bytes = 0;
  uint64_t command_buffers = 0;
  DurationSummary step_ns;
  DurationSummary remap_ns;
  DurationSummary wait_ns;
  int64_t gpu_step_ns = 0;      // of one step (median where the trace has one per step)
  uint64_t stale_mappings = 0;  // slot-steps that read other memory than their backing
  uint64_t stale_steps = 0;
  uint64_t skips_on_assumption = 0;
  uint64_t verification_failures = 0;
  std::optional<int64_t> oracle_ns;  // lower bound on step_ns.total, where it applies
  std::string unsure_terms;          // cost terms used that nobody measured here: "update (borrowed from h200), ..."
  std::vector<SampleRow> samples;
  std::vector<SizeClassRow> size_classes;
};

}  // namespace remaplab
