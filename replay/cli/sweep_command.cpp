// remaplab sweep: a grid of traces, strategies, thresholds, profiles and repetitions, on one machine or as one shard of
// several. docs/sweep.md describes plans, shards and what is printed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/parse.h"
#include "base/text_file.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/interrupt.h"
#include "replay/cli/progress.h"
#include "replay/cli/table.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/shard.h"
#include "replay/sweep/shard_store.h"
#include "replay/sweep/sweep_runner.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  const auto texts = [] { return po::value<std::vector<std::string>>()->composing(); };
  for (const PlanWord& word : PlanWords()) {
    const std::string spelling = word.name == "strategy" ? "strategy,s" : std::string(word.name);
    add(spelling.c_str(), texts(), std::string(word.help).c_str());
  }
  for (const ReplayFlag& flag : ReplayFlagTable()) {
    add(std::string(flag.spelling).c_str(), texts(), std::string(flag.help).c_str());
  }
  add("store", text(), "the SQLite file for the runs; a shard's name gets .shard-i-of-n before its ending");
  add("jobs,j", text()->default_value("1"), "worker threads");
  add("shard", text(), "do part i of n (i from 0); default: as Slurm, Open MPI or PMI say");
  add("scratch", text(), "folder on this machine's own disk for a shard's store while it is written");
  add("tag", text()->default_value(""), "a word kept with the runs in the store");
  add("dry-run", po::bool_switch(), "only list the cells with their shards and keys");
  add("format,f", text()->default_value("table"), "of --dry-run: table, json, csv or markdown");
}

// What the plan file says, words given as options in place of it.
Result<SweepPlan> ReadPlan(const Arguments& arguments) {
  ReplayFlags words;
  if (!arguments.positional.empty()) {
    const std::string& path = arguments.positional[0];
    REMAPLAB_ASSIGN(const std::string text, ReadTextFile(path));
    REMAPLAB_ASSIGN(words, ParsePlanFile(text, path));
  }
  const auto take = [&](std::string_view name) {
    const std::string key(name);
    if (arguments.Has(key)) {
      words[key] = arguments.GetAll(key);
    }
  };
  for (const PlanWord& word : PlanWords()) {
    take(word.name);
  }
  for (const ReplayFlag& flag : ReplayFlagTable()) {
    take(flag.name);
  }
  return MakeSweepPlan(std::move(words));
}

const char* ReadEnvironment(const char* name) { return std::getenv(name); }

// Nothing: the whole sweep is done here.
Result<std::optional<Shard>> FindShard(const Arguments& arguments) {
  std::optional<Shard> shard;
  if (arguments.Has("shard")) {
    REMAPLAB_ASSIGN(shard, ParseShard(arguments.Get("shard")));
  } else {
    REMAPLAB_ASSIGN(shard, ShardFromEnvironment(ReadEnvironment));
  }
  if (shard) {
    fmt::print(stderr, "remaplab sweep: shard {}/{} from {}{}\n", shard->index, shard->count, shard->source,
               shard->unused.empty() ? "" : fmt::format("; also set, not used: {}", shard->unused));
  }
  return shard;
}

std::string ScratchFolder(const Arguments& arguments) {
  if (arguments.Has("scratch")) {
    return arguments.Get("scratch");
  }
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR"}) {
    if (const char* folder = std::getenv(name); folder != nullptr && *folder != '\0') {
      return folder;
    }
  }
  return {};
}

// Several processes on one host take a GPU each. Must come before the first driver call.
Status ClaimDevice(const SweepPlan& plan) {
  const auto backends = plan.flags.find("backend");
  if (backends == plan.flags.end() ||
      std::find(backends->second.begin(), backends->second.end(), "hip") == backends->second.end()) {
    return {};
  }
  REMAPLAB_ASSIGN(const std::optional<uint32_t> rank, LocalRankFromEnvironment(ReadEnvironment));
  if (rank) {
    setenv("HIP_VISIBLE_DEVICES", std::to_string(*rank).c_str(), 1);
    setenv("CUDA_VISIBLE_DEVICES", std::to_string(*rank).c_str(), 1);
    fmt::print(stderr, "remaplab sweep: this process is number {0} on its host and takes GPU {0}\n", *rank);
  }
  return {};
}

class CellProgress final : public SweepObserver {
 public:
  void OnCell(const SweepProgress& progress) override {
    line_.Update(progress.done, progress.cells, progress.elapsed,
                 progress.failed == 0 ? "" : fmt::format("{} failed", progress.failed));
  }

 private:
  ProgressLine line_{"cells"};
};

std::string FlagsText(const ReplayFlags& flags) {
  std::string text;
  for (const auto& [name, values] : flags) {
    for (const std::string& value : values) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
  }
  return text;
}

Result<int> ListCells(const SweepGrid& grid, uint32_t shards, Format format) {
  Table table{{"position", "shard", "cell", "trace", "program", "strategy", "repetition", "flags"}, {}};
  for (const SweepCell& cell : grid.cells) {
    const SweepTrace& trace = grid.traces[cell.trace];
    table.rows.push_back({cell.position, ShardOf(cell, shards), cell.key,
                          std::filesystem::path(trace.path).filename().string(), trace.programs[cell.program].module,
                          cell.strategy, cell.repetition, FlagsText(cell.flags)});
  }
  REMAPLAB_TRY(Print(table.Render(format)));
  return kOk;
}

Result<SweepProgress> RunShard(const SweepGrid& grid, const Shard& shard, Store& store, const SweepOptions& options) {
  REMAPLAB_ASSIGN(const std::vector<const SweepCell*> cells, UnfinishedCells(grid, shard, store));
  const auto mine = std::count_if(grid.cells.begin(), grid.cells.end(),
                                  [&](const SweepCell& cell) { return ShardOf(cell, shard.count) == shard.index; });
  CellProgress progress;
  return RunCells(grid, cells, static_cast<uint64_t>(mine) - cells.size(), store, options, progress);
}

Result<int> Report(const SweepProgress& progress, const std::string& store) {
  REMAPLAB_TRY(Print(fmt::format("{} cells run, {} finished before, {} failed; {}\n", progress.done, progress.skipped,
                                 progress.failed, store)));
  if (progress.done < progress.cells) {
    return Fail(ErrorCode::kInterrupted,
                fmt::format("interrupted with {} cells to go; run it again to go on", progress.cells - progress.done));
  }
  return progress.failed > 0 ? kCheckFailed : kOk;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const uint64_t jobs, ParseUInt(arguments.Get("jobs"), "--jobs"));
  if (jobs == 0 || jobs > 1024) {
    return Fail(ErrorCode::kUsage, fmt::format("--jobs {} is not between 1 and 1024", jobs));
  }
  REMAPLAB_ASSIGN(const SweepPlan plan, ReadPlan(arguments));
  REMAPLAB_ASSIGN(const std::optional<Shard> given, FindShard(arguments));
  const Shard shard = given.value_or(Shard());
  if (!arguments.Has("store") && !arguments.On("dry-run")) {
    return Fail(ErrorCode::kUsage, "--store is missing");
  }
  REMAPLAB_TRY(ClaimDevice(plan));
  std::vector<SweepTrace> traces;
  for (const std::string& path : plan.traces) {
    REMAPLAB_ASSIGN(traces.emplace_back(), IdentifyTrace(path, plan.program));
  }
  REMAPLAB_ASSIGN(const SweepGrid grid, EnumerateCells(plan, std::move(traces), shard.count));
  if (arguments.On("dry-run")) {
    return ListCells(grid, shard.count, format);
  }

  REMAPLAB_TRY(CheckCells(grid, shard, static_cast<uint32_t>(jobs)));

  // A sweep that is alone writes its store where it stays, as replay does.
  const std::string& path = arguments.Get("store");
  const ShardStore place = given ? PlaceShardStore(path, shard, ScratchFolder(arguments), grid.campaign.uuid)
                                 : ShardStore{.final_path = path, .working_path = path};
  if (given) {
    REMAPLAB_TRY(PrepareShardStore(place, grid.cells));
  }
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(place.working_path));
  const Result<SweepProgress> progress = RunShard(grid, shard, store,
                                                  {.jobs = static_cast<uint32_t>(jobs),
                                                   .stop = &InterruptFlag(),
                                                   .command_line = arguments.command_line,
                                                   .tag = arguments.Get("tag")});
  REMAPLAB_TRY(store.Close());
  if (given) {
    REMAPLAB_TRY(MoveIntoPlace(place));
  }
  if (!progress) {
    return Fail(progress.error());
  }
  return Report(*progress, place.final_path);
}

}  // namespace

const Command kSweepCommand = {
    .name = "sweep",
    .summary = "run a grid of traces, strategies, thresholds, profiles and repetitions",
    .positional = "[PLAN]",
    .example =
        "  remaplab sweep --trace run.remaptrace.zst --strategy full_remap --strategy skip_remap \\\n"
        "    --cost-profile h200 --cost-profile mi300x-fsdp8 --store results.sqlite --jobs 4\n"
        "  four cells in one store; started again, it does what is not there yet",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
