// What a sweep spans, and the cells that follow from it, in an order and with keys that every process agrees on.
// The file format is docs/sweep.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rows.h"
#include "base/result.h"
#include "replay/program_steps.h"
#include "replay/replay_flags.h"
#include "replay/sweep/shard.h"

namespace remaplab {

struct SweepPlan {
  std::vector<std::string> traces;
  std::vector<std::string> strategies;
  std::vector<std::string> thresholds;  // put where a strategy says {threshold}
  std::string program;                  // empty: all programs of each trace
  uint64_t repetitions = 1;
  std::string name;   // tells campaigns of the same plan apart
  ReplayFlags flags;  // a flag that holds one value and is given several times is an axis of the grid
};

// Words that a plan has beside those of ReplayFlagTable().
struct PlanWord {
  std::string_view name;
  std::string_view help;
};
std::span<const PlanWord> PlanWords();

// "word value" lines into values by word. Relative paths of traces and cost profile files are taken from the plan's
// folder. Errors: kInput naming file and line.
Result<ReplayFlags> ParsePlanFile(std::string_view text, const std::string& path);

// Error kUsage naming the word.
Result<SweepPlan> MakeSweepPlan(ReplayFlags words);

// What enumeration needs to know of a trace.
struct SweepTrace {
  std::string path;
  std::string xxh3;
  struct Program {
    uint32_t id = 0;
    std::string module;
    int32_t device = 0;
  };
  std::vector<Program> programs;  // those that the plan asks for
};

// Loads it and forgets it again. Error kUsage when it has no such program.
Result<SweepTrace> IdentifyTrace(const std::string& path, std::string_view program);

struct SweepCell {
  size_t trace = 0;  // into the span of traces
  size_t program = 0;
  std::string strategy;
  ReplayFlags flags;  // one value each, but for lists
  uint64_t repetition = 0;
  uint64_t position = 0;  // in the plan's order, which is the order of execution
  // Cells of a block stay in one shard, one after another: on measured backends all strategies of one repetition, in
  // alternating order (A B, B A, ...), so that pairs see the same machine in the same state. Simulated cells stand
  // alone.
  uint64_t block = 0;
  std::string key;  // 32 hex digits over everything that makes the result, the trace's content included
};

// Whether times come from a clock, so that runs disturb each other.
bool IsMeasured(const ReplayFlags& flags);

struct SweepGrid {
  std::vector<SweepTrace> traces;
  std::vector<SweepCell> cells;
  std::string plan_hash;  // over all keys in order
  CampaignInfo campaign;  // its plan_json says which cells there are and in which shard: see analysis/campaign.h
};

// Errors: kUsage when two cells would be the same run.
Result<SweepGrid> EnumerateCells(const SweepPlan& plan, std::vector<SweepTrace> traces, uint32_t shards);

// Which shard does the cell.
inline uint32_t ShardOf(const SweepCell& cell, uint32_t shards) { return static_cast<uint32_t>(cell.block % shards); }

}  // namespace remaplab
