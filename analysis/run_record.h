// Runs as analysis reads them back: one flat record per run, and how to select and pair them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rows.h"
#include "analysis/store.h"
#include "base/result.h"

namespace remaplab {

struct RunRecord {
  RunId id = 0;
  std::string uuid;
  std::string status;
  int64_t start = 0;
  std::string tag;
  std::optional<int64_t> position;
  std::string git_revision;
  bool git_dirty = false;
  std::string host;          // JSON
  std::string device_facts;  // JSON
  std::string device_class;  // device_facts' "device"
  bool throttled = false;    // device_facts' "throttled"

  // What makes two runs comparable.
  std::string trace;
  std::string trace_xxh3;
  int64_t program = 0;
  std::string module;
  int64_t device = 0;
  std::string strategy;
  std::string resolved;
  std::string backend;
  bool measured = false;
  std::string driver_profile;
  std::string cost_profile;
  std::string cost_profile_quality;
  std::string cost_profile_params;
  int64_t devices = 0;
  int64_t granularity = 0;
  std::optional<int64_t> gpu_step_option_ns;
  int64_t host_step_ns = 0;
  int64_t run_ahead = 0;
  std::string scale;
  std::string slot_filter;

  int64_t warmup_steps = 1;
  int64_t steps = 0;
  int64_t failed_steps = 0;
  int64_t slots = 0;
  int64_t bytes_mapped = 0;
  int64_t changed_slot_steps = 0;
  int64_t peak_reserved = 0;
  int64_t shadow_bytes = 0;
  int64_t retained_bytes = 0;
  int64_t command_buffers = 0;
  DurationSummary step_ns;
  DurationSummary remap_ns;
  DurationSummary wait_ns;
  int64_t gpu_step_ns = 0;
  std::optional<int64_t> oracle_ns;
  int64_t stale_mappings = 0;
  int64_t stale_steps = 0;
  int64_t skips_on_assumption = 0;
  int64_t verification_failures = 0;
  std::string unsure_terms;
  std::array<KindTotals, kRunPhaseNames.size()> calls{};  // by RunPhase
  std::map<std::string, Distribution> samples;            // by metric
  std::optional<int64_t> accepted;                        // when the run was made the baseline

  uint64_t calls_in_steps() const;
  // Steps that step_ns.total covers.
  int64_t counted_steps() const { return std::max<int64_t>(0, steps - warmup_steps); }
};

// Which runs of a store. Empty lists select everything; several values of one list are alternatives, several lists must
// all hold.
struct RunSelection {
  std::vector<std::string> runs;  // run ids of the store, or beginnings of uuids
  std::vector<std::string> tags;
  std::vector<std::string> revisions;   // beginnings of git revisions
  std::vector<std::string> strategies;  // canonical text
  std::vector<std::string> backends;
  std::vector<std::string> programs;  // module, or its number
  bool empty() const {
    return runs.empty() && tags.empty() && revisions.empty() && strategies.empty() && backends.empty() &&
           programs.empty();
  }
};

// Runs that ended (finished or failed) and are selected, by start. Error kUsage when a value of the selection matches
// no run of the store, naming what there is.
Result<std::vector<RunRecord>> LoadRuns(Store& store, const RunSelection& selection);

// Runs with equal keys measured the same thing. `with_strategy` is false when two strategies are compared.
std::string ConfigurationKey(const RunRecord& run, bool with_strategy);
// The same for people: "tiny.remaptrace.zst jit_step_fn skip_remap on sim (cuda, h200)".
std::string Describe(const RunRecord& run, bool with_strategy);
// What differs between two configurations: "granularity 4096 and 2097152, devices 1 and 8"; empty when nothing does.
std::string DescribeDifference(const RunRecord& a, const RunRecord& b);

}  // namespace remaplab
