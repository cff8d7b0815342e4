// The names by which numbers of a run are compared, gated and followed over time:
//
//   step_ns/first total median p99, remap_ns/..., wait_ns/...
//   calls/KIND, cleanup/KIND, teardown/KIND          how many calls
//   call_ns/KIND/mean median p99                     one call during the steps; median and p99 where they were kept
//   memory/bytes_mapped peak_reserved shadow_bytes retained_bytes command_buffers
//   failed_steps, verification_failures, stale_mappings, skips_on_assumption, changed_slot_steps
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_record.h"
#include "base/result.h"

namespace remaplab {

// p99 needs this many values to mean something.
inline constexpr uint64_t kMinValuesForP99 = 1000;

// All names there are.
std::vector<std::string> MetricNames();
// Error kUsage naming similar metrics when there is none of that name.
Status CheckMetricName(std::string_view name);

// nullopt: the run does not have it, e.g. call_ns/map/p99 with too few calls.
std::optional<double> MetricValue(const RunRecord& run, std::string_view name);

// Counts, bytes, and the times of a simulated run: equal runs have equal values.
bool IsExact(std::string_view name, bool measured);

}  // namespace remaplab
