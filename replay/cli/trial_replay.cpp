#include "replay/cli/trial_replay.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "analysis/store.h"
#include "engine/strategy.h"
#include "replay/cli/command.h"
#include "replay/oracle_bound.h"
#include "replay/program_steps.h"
#include "replay/store_listener.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

// Every strategy with its defaults, and the pull request's combination with a threshold of its own choice.
std::vector<std::string> AllStrategies() {
  std::vector<std::string> all = {"skip_remap+copy_shadow(threshold=auto)"};
  for (const StrategyInfo& info : Strategies()) {
    if (info.name != "copy_shadow") {
      all.emplace_back(info.name);
    }
  }
  return all;
}

class Trials {
 public:
  Trials(const Trace& trace, const TrialOptions& options, Store& store, std::string trace_name)
      : trace_(trace), options_(options), store_(store) {
    context_.trace_name = std::move(trace_name);
    context_.command_line = options.command_line;
  }

  Status Run(const ProgramSteps& program) {
    const bool named = !options_.strategies.empty();
    REMAPLAB_ASSIGN(const OracleBound bound, ComputeOracleBound(trace_, program, options_.replay));
    for (const std::string& strategy : named ? options_.strategies : AllStrategies()) {
      const std::string one[] = {strategy};
      if (const Status possible = CheckReplay(trace_, std::span(&program, 1), one, options_.replay); !possible) {
        if (named) {
          return Fail(possible.error());
        }
        Warn(fmt::format("{} is left out: {}", strategy, possible.error().message()));
        continue;
      }
      StoreListener listener(store_, context_);
      REMAPLAB_ASSIGN(ProgramRun run, ReplayProgram(trace_, program, strategy, options_.replay, &listener));
      if (run.summary.stale_mappings == 0) {
        run.summary.oracle_ns = bound.total_ns;
      }
      REMAPLAB_TRY(listener.Finish(run));
      if (run.summary.status == RunStatus::kInterrupted) {
        return Fail(ErrorCode::kInterrupted, "interrupted; nothing is kept");
      }
    }
    return {};
  }

 private:
  const Trace& trace_;
  const TrialOptions& options_;
  Store& store_;
  StoreListener::Context context_;
};

}  // namespace

Result<ScratchDirectory> ScratchDirectory::Make() {
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / "remaplab-XXXXXX").string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    return Fail(ErrorCode::kIo, fmt::format("no directory for intermediate results: {}",
                                            error ? error.message() : std::strerror(errno)));
  }
  return ScratchDirectory(std::move(pattern));
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Status RunTrials(const std::string& trace_path, const TrialOptions& options, const std::string& store_path) {
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(trace_path));
  std::vector<ProgramSteps> programs = SplitPrograms(trace);
  if (programs.empty()) {
    return Fail(ErrorCode::kInput, fmt::format("{} has no steps", trace_path));
  }
  if (!options.program.empty()) {
    REMAPLAB_ASSIGN(programs, PickPrograms(std::move(programs), options.program));
  }
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(store_path));
  Trials trials(trace, options, store, std::filesystem::path(trace_path).filename().string());
  for (const ProgramSteps& program : programs) {
    REMAPLAB_TRY(trials.Run(program));
  }
  return store.Close();
}

}  // namespace remaplab::cli
