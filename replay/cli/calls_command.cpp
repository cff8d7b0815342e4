// remaplab calls: what a recording of a real run's driver calls holds, alone or beside a replay.
#include <fmt/format.h>

#include "replay/call_report.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/replay_options.h"
#include "replay/cli/table.h"
#include "replay/replayer.h"
#include "traces/importers/calls/call_importers.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  add("against", text(), "a trace of the same run: what the engine would have called for it");
  add("strategy,s", po::value<std::vector<std::string>>()->composing(),
      "with --against: a strategy, e.g. skip_remap; may be repeated");
  add("program,p", text(), "with --against: only this program, by id or module name");
  add("format,f", text()->default_value("table"), "table, json, csv or markdown");
  DeclareReplayOptions(add);
}

Result<std::vector<ProgramRun>> ReplayBeside(const Arguments& arguments) {
  const std::vector<std::string> strategies = arguments.GetAll("strategy");
  if (strategies.empty()) {
    return Fail(ErrorCode::kUsage, "--against needs a --strategy; remaplab list --strategies shows them");
  }
  REMAPLAB_ASSIGN(const ReplayOptions options, ReadReplayOptions(arguments));
  const std::string& path = arguments.Get("against");
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  std::vector<ProgramSteps> programs = SplitPrograms(trace);
  if (programs.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{} has no steps", path));
  }
  if (arguments.Has("program")) {
    REMAPLAB_ASSIGN(programs, PickPrograms(std::move(programs), arguments.Get("program")));
  }
  REMAPLAB_TRY(CheckReplay(trace, programs, strategies, options));
  std::vector<ProgramRun> runs;
  for (const ProgramSteps& program : programs) {
    for (const std::string& strategy : strategies) {
      REMAPLAB_ASSIGN(ProgramRun run, ReplayProgram(trace, program, strategy, options, nullptr));
      if (run.summary.status == RunStatus::kInterrupted) {
        return Fail(ErrorCode::kInterrupted, "interrupted");
      }
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  const bool against = arguments.Has("against");
  if (!against && (arguments.Has("strategy") || arguments.Has("program"))) {
    return Fail(ErrorCode::kUsage, "--strategy and --program choose what is replayed; they need --against TRACE");
  }
  REMAPLAB_ASSIGN(const CallRecording recording, ImportCalls(arguments.positional[0]));
  std::vector<ProgramRun> runs;
  if (against) {
    REMAPLAB_ASSIGN(runs, ReplayBeside(arguments));
  }
  switch (format) {
    case Format::kTable:
      REMAPLAB_TRY(Print(against ? RecordingAgainstToText(recording, runs) : RecordingToText(recording)));
      break;
    case Format::kJson:
      REMAPLAB_TRY(Print(against ? RecordingAgainstToJson(recording, runs) : RecordingToJson(recording)));
      break;
    default: {
      const Table table = against ? RecordingAgainstToTable(recording, runs) : RecordingToTable(recording);
      REMAPLAB_TRY(Print(table.Render(format)));
    }
  }
  return kOk;
}

}  // namespace

const Command kCallsCommand = {
    .name = "calls",
    .summary = "the driver calls of a real run: rocpd, rocprofv3 CSV, AMD_LOG_LEVEL text, Nsight Systems SQLite",
    .positional = "FILE",
    .example =
        "  remaplab calls run.db\n"
        "  calls by kind, their times and sizes, and what the recording cannot say\n"
        "  remaplab calls run.db --against run.remaptrace.zst --program jit_train_step --strategy skip_remap\n"
        "  what the run called beside what the engine would have called for the same steps",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
