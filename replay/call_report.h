// What `calls` prints about a driver-call recording: for people, as JSON (documented in docs/call-recordings.md), as a
// table per call kind; alone, or beside what a replay of a trace called.
#pragma once

#include <span>
#include <string>

#include "analysis/rows.h"
#include "replay/cli/table.h"
#include "replay/replayer.h"
#include "traces/call_recording.h"

namespace remaplab {

// Counts and nanoseconds by kind, as the store and `compare` hold them. Untimed calls count; their time is not in `ns`.
KindTotals ToKindTotals(const CallTotals& totals);

std::string RecordingToText(const CallRecording& recording);
std::string RecordingToJson(const CallRecording& recording);
// One row per call kind, those without calls included.
cli::Table RecordingToTable(const CallRecording& recording);

// The same, with runs of the engine beside it. Counts per launch and per step are the ones to compare: a recording
// covers more than the steps of the trace.
std::string RecordingAgainstToText(const CallRecording& recording, std::span<const ProgramRun> runs);
std::string RecordingAgainstToJson(const CallRecording& recording, std::span<const ProgramRun> runs);
// One row per run and call kind that either has.
cli::Table RecordingAgainstToTable(const CallRecording& recording, std::span<const ProgramRun> runs);

}  // namespace remaplab
