// remaplab replay: a trace under one or more strategies on one backend.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "backends/sim/timeline.h"
#include "base/parse.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/replay_options.h"
#include "replay/cli/table.h"
#include "replay/oracle_bound.h"
#include "replay/replayer.h"
#include "replay/run_report.h"
#include "replay/sensitivity.h"
#include "replay/store_listener.h"
#include "replay/together.h"
#include "traces/allocator/reallocate.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  add("strategy,s", po::value<std::vector<std::string>>()->composing(),
      "a strategy, e.g. skip_remap+copy_shadow(threshold=65536); may be repeated");
  add("program,p", text(), "only this program: its id or module name; default: all, each a run of its own");
  DeclareReplayOptions(add);
  add("repeat", text()->default_value("1"), "runs of each strategy, in the order A B B A, for measured backends");
  add("together", po::bool_switch(), "replay the programs of the process at once, as recorded (sim)");
  add("copies", text(), "with --together: the one picked program on this many devices at once");
  add("allocator", text()->default_value("recorded"),
      "decide addresses anew: recorded, fifo, smallest, best_fit, id_stable, arena, bfc");
  add("timeline", text(), "write both simulated clocks of the one run as a Chrome/Perfetto trace");
  add("sensitivity", po::bool_switch(), "rank the cost terms by what halving each would save per step (sim)");
  add("store", text(), "write the runs into this SQLite file, made if it is not there");
  add("tag", text()->default_value(""), "a word kept with the runs in the store");
  add("format,f", text()->default_value("table"), "table, json or csv");
}

// Everything that a replay needs, read and checked before the first step.
struct Job {
  ReplayOptions options;
  Format format = Format::kTable;
  std::vector<std::string> strategies;
  Trace trace;
  std::optional<ReallocationReport> reallocation;
  std::vector<ProgramSteps> programs;
  std::vector<OracleBound> oracle;  // by program; empty where there is none
  uint64_t repeat = 1;
  bool together = false;
  bool sensitivity = false;
  std::string timeline;
};

Status CheckCombinations(const Arguments& arguments, const Job& job) {
  const bool simulated = job.options.backend == "sim";
  if ((job.together || job.sensitivity || !job.timeline.empty()) && !simulated) {
    return Fail(ErrorCode::kUsage,
                "--together, --sensitivity and --timeline are about simulated time: use --backend sim");
  }
  if (arguments.Has("copies") && (!job.together || job.programs.size() != 1)) {
    return Fail(ErrorCode::kUsage, "--copies needs --together and one program (--program)");
  }
  if (job.together && job.repeat > 1) {
    return Fail(ErrorCode::kUsage, "--together runs are simulated and exact: --repeat adds nothing");
  }
  const size_t runs = job.together ? job.strategies.size() : job.programs.size() * job.strategies.size() * job.repeat;
  if (!job.timeline.empty() && runs != 1) {
    return Fail(ErrorCode::kUsage, fmt::format("--timeline shows one run, and these are {}: pick one --program and one "
                                               "--strategy",
                                               runs));
  }
  return {};
}

Result<Job> Prepare(const Arguments& arguments) {
  Job job;
  REMAPLAB_ASSIGN(job.options, ReadReplayOptions(arguments));
  REMAPLAB_ASSIGN(job.format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const AllocatorPolicy allocator, ParseAllocatorPolicy(arguments.Get("allocator")));
  REMAPLAB_ASSIGN(job.repeat, ParseUInt(arguments.Get("repeat"), "--repeat"));
  if (job.repeat == 0 || job.repeat > 10'000) {
    return Fail(ErrorCode::kUsage, fmt::format("--repeat {} is not between 1 and 10000", job.repeat));
  }
  job.together = arguments.On("together");
  job.sensitivity = arguments.On("sensitivity");
  job.timeline = arguments.Has("timeline") ? arguments.Get("timeline") : std::string();
  job.strategies = arguments.GetAll("strategy");
  if (job.strategies.empty()) {
    return Fail(ErrorCode::kUsage, "at least one --strategy is needed; remaplab list --strategies shows them");
  }
  const std::string& path = arguments.positional[0];
  REMAPLAB_ASSIGN(job.trace, LoadTrace(path));
  if (!job.trace.end.present) {
    Warn(fmt::format("{} was cut off; replaying the {} steps that are there", path, job.trace.steps()));
  }
  if (allocator != AllocatorPolicy::kRecorded) {
    ReallocatedTrace reallocated = ReallocateTrace(job.trace, allocator, job.options.granularity);
    job.trace = std::move(reallocated.trace);
    job.reallocation = std::move(reallocated.report);
  }
  job.programs = SplitPrograms(job.trace);
  if (job.programs.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{} has no steps", path));
  }
  if (arguments.Has("program")) {
    REMAPLAB_ASSIGN(job.programs, PickPrograms(std::move(job.programs), arguments.Get("program")));
  }
  REMAPLAB_TRY(CheckCombinations(arguments, job));
  if (arguments.Has("copies")) {
    REMAPLAB_ASSIGN(const uint64_t copies, ParseUInt(arguments.Get("copies"), "--copies"));
    if (copies == 0 || copies > 1024) {
      return Fail(ErrorCode::kUsage, fmt::format("--copies {} is not between 1 and 1024", copies));
    }
    job.programs = CopiesOf(job.programs[0], static_cast<uint32_t>(copies));
  }
  REMAPLAB_TRY(CheckReplay(job.trace, job.programs, job.strategies, job.options));
  if (job.options.backend == "sim" && !job.together) {
    for (const ProgramSteps& program : job.programs) {
      REMAPLAB_ASSIGN(job.oracle.emplace_back(), ComputeOracleBound(job.trace, program, job.options));
    }
  }
  return job;
}

// Runs one or several programs under one strategy, with the store's listeners around them.
Status RunInto(const Job& job, std::span<const ProgramSteps> programs, const std::string& strategy, Store* store,
               const StoreListener::Context& context, std::vector<ProgramRun>& runs) {
  std::vector<StoreListener> listeners;
  std::vector<RunListener*> pointers;
  if (store != nullptr) {
    listeners.reserve(programs.size());  // the pointers stay good
    for (size_t i = 0; i < programs.size(); ++i) {
      pointers.push_back(&listeners.emplace_back(*store, context));
    }
  }
  Result<std::vector<ProgramRun>> done;
  if (job.together) {
    done = ReplayTogether(job.trace, programs, strategy, job.options, pointers);
  } else {
    Result<ProgramRun> run =
        ReplayProgram(job.trace, programs[0], strategy, job.options, pointers.empty() ? nullptr : pointers[0]);
    if (run) {
      done->push_back(std::move(*run));
    } else {
      done = Fail(std::move(run).error());
    }
  }
  if (!done) {
    for (StoreListener& listener : listeners) {
      REMAPLAB_TRY(listener.Abort(done.error()));
    }
    return Fail(std::move(done).error());
  }
  for (ProgramRun& run : *done) {
    for (const OracleBound& bound : job.oracle) {
      if (bound.program == run.info.program.id && run.summary.stale_mappings == 0) {
        run.summary.oracle_ns = bound.total_ns;
      }
    }
  }
  for (size_t i = 0; i < listeners.size(); ++i) {
    REMAPLAB_TRY(listeners[i].Finish((*done)[i]));
  }
  bool interrupted = false;
  for (ProgramRun& run : *done) {
    interrupted |= run.summary.status == RunStatus::kInterrupted;
    runs.push_back(std::move(run));
  }
  return interrupted ? Status(Fail(ErrorCode::kInterrupted, "interrupted; everything was given back")) : Status();
}

// A B B A ...: neighbours in time share the machine's mood. The runs come back in the order of the flags.
Status RunRepeated(const Job& job, const ProgramSteps& program, Store* store, StoreListener::Context& context,
                   std::vector<ProgramRun>& runs) {
  const size_t strategies = job.strategies.size();
  std::vector<std::vector<ProgramRun>> by_strategy(strategies);
  for (uint64_t round = 0; round < job.repeat; ++round) {
    for (size_t i = 0; i < strategies; ++i) {
      const size_t strategy = round % 2 == 0 ? i : strategies - 1 - i;
      context.position = static_cast<int64_t>(round * strategies + i);
      REMAPLAB_TRY(
          RunInto(job, std::span(&program, 1), job.strategies[strategy], store, context, by_strategy[strategy]));
    }
  }
  for (std::vector<ProgramRun>& group : by_strategy) {
    std::move(group.begin(), group.end(), std::back_inserter(runs));
  }
  return {};
}

Status RunAll(const Job& job, Store* store, StoreListener::Context context, std::vector<ProgramRun>& runs) {
  if (job.together) {
    for (const std::string& strategy : job.strategies) {
      REMAPLAB_TRY(RunInto(job, job.programs, strategy, store, context, runs));
    }
    return {};
  }
  for (const ProgramSteps& program : job.programs) {
    REMAPLAB_TRY(RunRepeated(job, program, store, context, runs));
  }
  return {};
}

Status WriteTimeline(const Job& job, const Timeline& timeline, const std::vector<ProgramRun>& runs) {
  std::ofstream file(job.timeline, std::ios::binary);
  file << timeline.ToChromeJson(fmt::format("{} {}", runs[0].info.program.module, runs[0].info.strategy));
  file.close();
  return file ? Status() : Fail(ErrorCode::kIo, fmt::format("{}: cannot write", job.timeline));
}

std::string DescribeReallocation(const ReallocationReport& report) {
  std::string text = fmt::format("allocator {}: {} requests; memory {} instead of {}, {} backings instead of {}\n",
                                 Name(report.policy), report.requests, HumanBytes(report.peak_bytes_after),
                                 HumanBytes(report.peak_bytes_before), report.backings_after, report.backings_before);
  for (const ReallocationReport::Program& program : report.programs) {
    fmt::format_to(std::back_inserter(text),
                   "  {}: {} changed slot-steps in {} runs instead of {} in {}; {} sets of bindings instead of {}\n",
                   program.module, program.after.changed_slot_steps, program.after.runs,
                   program.before.changed_slot_steps, program.before.runs, program.after.all.distinct,
                   program.before.all.distinct);
  }
  return text + "\n";
}

Result<std::string> SensitivityText(const Job& job) {
  std::string text;
  for (const ProgramSteps& program : job.programs) {
    for (const std::string& strategy : job.strategies) {
      REMAPLAB_ASSIGN(const std::vector<TermSaving> savings, RankTerms(job.trace, program, strategy, job.options));
      text += fmt::format("\n{} {}: halving a term saves per step:", program.module, strategy);
      text += savings.empty() ? " nothing" : "";
      for (size_t i = 0; i < savings.size(); ++i) {
        text += fmt::format("{} {} {}", i == 0 ? "" : ",", savings[i].term, HumanTime(savings[i].saved_per_step_ns));
      }
      text += "\n";
    }
  }
  return text;
}

Result<std::string> Report(const Job& job, const std::vector<ProgramRun>& runs) {
  if (job.format == Format::kJson) {
    return RunsToJson(runs, job.oracle);
  }
  if (job.format != Format::kTable) {
    return RunsToCsvTable(runs).Render(job.format);
  }
  std::string text = job.reallocation ? DescribeReallocation(*job.reallocation) : std::string();
  text += RunsToText(runs, job.oracle);
  if (job.sensitivity) {
    REMAPLAB_ASSIGN(const std::string ranking, SensitivityText(job));
    text += ranking;
  }
  return text;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(Job job, Prepare(arguments));
  Timeline timeline;
  if (!job.timeline.empty()) {
    job.options.backend_options.timeline = &timeline;
  }
  std::optional<Store> store;
  if (arguments.Has("store")) {
    REMAPLAB_ASSIGN(store, Store::OpenForWriting(arguments.Get("store")));
  }
  const StoreListener::Context context{.trace_name = std::filesystem::path(arguments.positional[0]).filename().string(),
                                       .command_line = arguments.command_line,
                                       .tag = arguments.Get("tag"),
                                       .cell = {},
                                       .position = std::nullopt,
                                       .campaign = std::nullopt};
  std::vector<ProgramRun> runs;
  Status done = RunAll(job, store ? &*store : nullptr, context, runs);
  if (store) {
    REMAPLAB_TRY(store->Close());
  }
  REMAPLAB_TRY(std::move(done));
  if (!job.timeline.empty()) {
    REMAPLAB_TRY(WriteTimeline(job, timeline, runs));
  }
  REMAPLAB_ASSIGN(const std::string report, Report(job, runs));
  REMAPLAB_TRY(Print(report));
  const bool failed = std::any_of(runs.begin(), runs.end(), [&job](const ProgramRun& run) {
    const bool unexpected = run.summary.failed_steps > 0 && job.options.faults.empty();
    return run.poisoned || unexpected || run.summary.verification_failures > 0;
  });
  return failed ? kCheckFailed : kOk;
}

}  // namespace

const Command kReplayCommand = {
    .name = "replay",
    .summary = "replay a trace under one or more strategies and compare them",
    .positional = "TRACE",
    .example =
        "  remaplab replay run.remaptrace.zst --program jit_train_step --store results.sqlite \\\n"
        "    --strategy full_remap --strategy skip_remap --strategy 'skip_remap+copy_shadow(threshold=65536)'\n"
        "  what each strategy costs per step on the simulated H200; the runs stay in results.sqlite",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
