// remaplab replay: a trace under one or more strategies on one backend.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/parse.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/interrupt.h"
#include "replay/cli/table.h"
#include "replay/oracle_bound.h"
#include "replay/replayer.h"
#include "replay/run_report.h"
#include "replay/store_listener.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  const auto texts = [] { return po::value<std::vector<std::string>>()->composing(); };
  add("strategy,s", texts(), "a strategy, e.g. skip_remap+copy_shadow(threshold=65536); may be repeated");
  add("backend,b", text()->default_value("sim"), "sim, null, host or hip (remaplab list --backends)");
  add("cost-profile", text()->default_value("h200"), "what calls cost on sim: a name, or a profile file");
  add("driver-profile", text()->default_value("cuda"), "what the driver accepts on sim");
  add("what-if", texts(), "replace a cost term, e.g. unmap.fixed=10us; may be repeated");
  add("granularity", text(), "bytes that sizes are rounded up to; default: the trace's, else the driver's");
  add("devices", text()->default_value("1"), "how many devices get access to a mapping: owner and peers");
  add("program,p", text(), "only this program: its id or module name; default: all, each a run of its own");
  add("slots", text()->default_value("all"), "all, or command-buffer: only slots known to be used by it");
  add("scale-sizes", text()->default_value("1"), "multiply all sizes by this ratio, e.g. 1/8");
  add("gpu-step", text(), "GPU time of a step, e.g. 552ms; default: from the trace");
  add("host-step", text()->default_value("0"), "CPU work of a step outside the calls");
  add("run-ahead", text()->default_value("1"), "steps that the CPU may be ahead of the GPU");
  add("warmup", text()->default_value("1"), "leading steps that total, median and p99 leave out");
  add("verify", text()->default_value("off"), "off, sample or full: check what each launch reads");
  add("inject-faults", texts(), "make calls fail, e.g. unmap:call=7 or map:rate=0.01,seed=3; may be repeated");
  add("jitter", text()->default_value("0"), "relative spread of simulated call costs");
  add("seed", text()->default_value("1"), "of the jitter");
  add("store", text(), "write the runs into this SQLite file, made if it is not there");
  add("tag", text()->default_value(""), "a word kept with the runs in the store");
  add("detail", text()->default_value("steps"), "what the store keeps: steps, or calls (a row per call)");
  add("format,f", text()->default_value("table"), "table, json or csv");
}

Result<VerifyMode> ParseVerify(std::string_view text) {
  if (text == "off") {
    return VerifyMode::kOff;
  }
  if (text == "sample") {
    return VerifyMode::kSample;
  }
  if (text == "full") {
    return VerifyMode::kFull;
  }
  return Fail(ErrorCode::kUsage, fmt::format("--verify {} is not one of off, sample, full", text));
}

Result<ReplayOptions> ReadOptions(const Arguments& arguments) {
  ReplayOptions options;
  BackendOptions& backend = options.backend_options;
  options.backend = arguments.Get("backend");
  backend.cost_profile = arguments.Get("cost-profile");
  backend.driver_profile = arguments.Get("driver-profile");
  backend.what_if = arguments.GetAll("what-if");
  REMAPLAB_ASSIGN(const uint64_t devices, ParseUInt(arguments.Get("devices"), "--devices"));
  if (devices == 0 || devices > 1024) {
    return Fail(ErrorCode::kUsage, fmt::format("--devices {} is not between 1 and 1024", devices));
  }
  backend.devices = static_cast<uint32_t>(devices);
  if (arguments.Has("granularity")) {
    REMAPLAB_ASSIGN(options.granularity, ParseBytes(arguments.Get("granularity"), "--granularity"));
    if (options.granularity == 0) {
      return Fail(ErrorCode::kUsage, "--granularity 0 means nothing");
    }
  }
  REMAPLAB_ASSIGN(options.scale, ParseRatio(arguments.Get("scale-sizes"), "--scale-sizes"));
  const std::string& slots = arguments.Get("slots");
  if (slots != "all" && slots != "command-buffer") {
    return Fail(ErrorCode::kUsage, fmt::format("--slots {} is not one of all, command-buffer", slots));
  }
  options.command_buffer_slots_only = slots == "command-buffer";
  if (arguments.Has("gpu-step")) {
    REMAPLAB_ASSIGN(options.gpu_step_ns, ParseDuration(arguments.Get("gpu-step"), "--gpu-step"));
  }
  REMAPLAB_ASSIGN(backend.host_step_ns, ParseDuration(arguments.Get("host-step"), "--host-step"));
  REMAPLAB_ASSIGN(const uint64_t ahead, ParseUInt(arguments.Get("run-ahead"), "--run-ahead"));
  if (ahead > 1000) {
    return Fail(ErrorCode::kUsage, fmt::format("--run-ahead {} is more than 1000", ahead));
  }
  backend.run_ahead = static_cast<uint32_t>(ahead);
  REMAPLAB_ASSIGN(options.warmup, ParseUInt(arguments.Get("warmup"), "--warmup"));
  REMAPLAB_ASSIGN(options.verify, ParseVerify(arguments.Get("verify")));
  for (const std::string& spec : arguments.GetAll("inject-faults")) {
    REMAPLAB_ASSIGN(options.faults.emplace_back(), ParseFaultSpec(spec));
  }
  REMAPLAB_ASSIGN(backend.jitter, ParseDouble(arguments.Get("jitter"), "--jitter"));
  if (backend.jitter < 0 || backend.jitter >= 1) {
    return Fail(ErrorCode::kUsage, "--jitter is a ratio of at least 0 and below 1");
  }
  REMAPLAB_ASSIGN(backend.seed, ParseUInt(arguments.Get("seed"), "--seed"));
  const std::string& detail = arguments.Get("detail");
  if (detail != "steps" && detail != "calls") {
    return Fail(ErrorCode::kUsage, fmt::format("--detail {} is not one of steps, calls", detail));
  }
  options.detail_calls = detail == "calls";
  options.stop = &InterruptFlag();
  return options;
}

Result<ProgramRun> RunOne(const Trace& trace, const ProgramSteps& program, const std::string& strategy,
                          const ReplayOptions& options, Store* store, const StoreListener::Context& context) {
  if (store == nullptr) {
    return ReplayProgram(trace, program, strategy, options, nullptr);
  }
  StoreListener listener(*store, context);
  Result<ProgramRun> run = ReplayProgram(trace, program, strategy, options, &listener);
  if (!run) {
    REMAPLAB_TRY(listener.Abort(run.error()));
    return run;
  }
  REMAPLAB_TRY(listener.Finish(*run));
  return run;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const ReplayOptions options, ReadOptions(arguments));
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  const std::vector<std::string> strategies = arguments.GetAll("strategy");
  if (strategies.empty()) {
    return Fail(ErrorCode::kUsage, "at least one --strategy is needed; remaplab list --strategies shows them");
  }
  const std::string& path = arguments.positional[0];
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  if (!trace.end.present) {
    Warn(fmt::format("{} was cut off; replaying the {} steps that are there", path, trace.steps()));
  }
  std::vector<ProgramSteps> programs = SplitPrograms(trace);
  if (programs.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{} has no steps", path));
  }
  if (arguments.Has("program")) {
    REMAPLAB_ASSIGN(programs, PickPrograms(std::move(programs), arguments.Get("program")));
  }
  REMAPLAB_TRY(CheckReplay(trace, programs, strategies, options));

  std::optional<Store> store;
  if (arguments.Has("store")) {
    REMAPLAB_ASSIGN(store, Store::OpenForWriting(arguments.Get("store")));
  }
  StoreListener::Context context{.trace_name = std::filesystem::path(path).filename().string(),
                                 .command_line = arguments.command_line,
                                 .tag = arguments.Get("tag"),
                                 .cell = {},
                                 .position = std::nullopt,
                                 .campaign = std::nullopt};
  std::vector<ProgramRun> runs;
  std::vector<OracleBound> oracle;
  for (const ProgramSteps& program : programs) {
    for (const std::string& strategy : strategies) {
      REMAPLAB_ASSIGN(ProgramRun run, RunOne(trace, program, strategy, options, store ? &*store : nullptr, context));
      runs.push_back(std::move(run));
      if (runs.back().summary.status == RunStatus::kInterrupted) {
        if (store) {
          REMAPLAB_TRY(store->Close());
        }
        return Fail(ErrorCode::kInterrupted, "interrupted; everything was given back");
      }
    }
    if (options.backend == "sim" && options.warmup == 1) {
      REMAPLAB_ASSIGN(oracle.emplace_back(), ComputeOracleBound(trace, program, options, runs.back().info.granularity));
    }
  }
  if (store) {
    REMAPLAB_TRY(store->Close());
  }
  switch (format) {
    case Format::kJson:
      REMAPLAB_TRY(Print(RunsToJson(runs, oracle)));
      break;
    case Format::kTable:
      REMAPLAB_TRY(Print(RunsToText(runs, oracle)));
      break;
    default:
      REMAPLAB_TRY(Print(RunsToCsvTable(runs).Render(format)));
      break;
  }
  bool failed = false;
  for (const ProgramRun& run : runs) {
    const bool unexpected = run.summary.failed_steps > 0 && options.faults.empty();
    failed |= run.poisoned || unexpected || run.summary.verification_failures > 0;
  }
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
