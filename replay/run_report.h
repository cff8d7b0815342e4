// What `replay` prints about its runs: the comparison table, the stable JSON form (documented in docs/replay.md), CSV.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "replay/cli/table.h"
#include "replay/replayer.h"

namespace remaplab {

struct OracleBound {
  uint32_t program = 0;
  std::string module;
  std::string cost_profile;
  int64_t total_ns = 0;
};

// A total of a run as a mean per step, over the steps that totals cover.
int64_t PerStep(int64_t total, const ProgramRun& run);

std::string RunsToJson(std::span<const ProgramRun> runs, std::span<const OracleBound> oracle);
// One row per run, every number, in the JSON form's names with dots.
cli::Table RunsToCsvTable(std::span<const ProgramRun> runs);
// For people: one table per program, the oracle's row with its gap to the best run.
std::string RunsToText(std::span<const ProgramRun> runs, std::span<const OracleBound> oracle);

}  // namespace remaplab
