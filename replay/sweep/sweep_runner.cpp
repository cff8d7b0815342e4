#include "replay/sweep/sweep_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "replay/store_listener.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

struct LoadedTrace {
  Trace trace;
  std::vector<ProgramSteps> programs;
};

// Traces that some cell is using. Cells come trace by trace, so that few are alive at a time.
class TraceCache {
 public:
  Result<std::shared_ptr<const LoadedTrace>> Get(const SweepTrace& wanted) {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<const LoadedTrace> alive = loaded_[wanted.path].lock()) {
      return alive;
    }
    auto loaded = std::make_shared<LoadedTrace>();
    REMAPLAB_ASSIGN(loaded->trace, LoadTrace(wanted.path));
    if (loaded->trace.xxh3 != wanted.xxh3) {
      return Fail(ErrorCode::kInput, fmt::format("{} has changed since the sweep began", wanted.path));
    }
    loaded->programs = SplitPrograms(loaded->trace);
    loaded_[wanted.path] = loaded;
    last_ = loaded;
    return std::shared_ptr<const LoadedTrace>(std::move(loaded));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const LoadedTrace>> loaded_;
  std::shared_ptr<const LoadedTrace> last_;  // between two cells of one trace nobody else may hold it
};

const ProgramSteps& FindProgram(const LoadedTrace& loaded, const SweepTrace::Program& wanted) {
  return *std::find_if(loaded.programs.begin(), loaded.programs.end(),
                       [&](const ProgramSteps& program) { return program.id == wanted.id; });
}

// A store that several workers write to in turn.
class SharedListener final : public RunListener {
 public:
  SharedListener(std::mutex& mutex, Store& store, StoreListener::Context context)
      : mutex_(mutex), listener_(store, std::move(context)) {}

  Status OnStart(const RunInfo& info) override {
    const std::lock_guard lock(mutex_);
    return listener_.OnStart(info);
  }
  Status OnSteps(std::span<const StepRow> steps, std::span<const StepCallRow> calls) override {
    const std::lock_guard lock(mutex_);
    return listener_.OnSteps(steps, calls);
  }
  Status OnCalls(std::span<const CallRow> calls) override {
    const std::lock_guard lock(mutex_);
    return listener_.OnCalls(calls);
  }
  Status Finish(const ProgramRun& run) {
    const std::lock_guard lock(mutex_);
    return listener_.Finish(run);
  }
  Status Abort(const Error& error) {
    const std::lock_guard lock(mutex_);
    return listener_.Abort(error);
  }

 private:
  std::mutex& mutex_;
  StoreListener listener_;
};

bool HasFailed(const ProgramRun& run, const ReplayOptions& options) {
  return run.poisoned || run.summary.verification_failures > 0 ||
         (run.summary.failed_steps > 0 && options.faults.empty());
}

std::string Describe(const SweepGrid& grid, const SweepCell& cell) {
  const SweepTrace& trace = grid.traces[cell.trace];
  return fmt::format("{} on {}, program {}", cell.strategy, trace.path, trace.programs[cell.program].module);
}

class Workers {
 public:
  Workers(const SweepGrid& grid, std::span<const SweepCell* const> cells, uint64_t skipped, Store& store,
          const SweepOptions& options, SweepObserver& observer)
      : grid_(grid), cells_(cells), store_(store), options_(options), observer_(observer) {
    progress_.cells = cells.size();
    progress_.skipped = skipped;
  }

  Result<SweepProgress> Run() {
    const size_t count = std::min<size_t>(options_.jobs, cells_.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < count; ++i) {
      threads.emplace_back([this] { Work(); });
    }
    Work();
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (error_) {
      return Fail(*std::move(error_));
    }
    return progress_;
  }

 private:
  bool Stopped() const { return failed_.load() || (options_.stop != nullptr && options_.stop->load()); }

  void Work() {
    while (!Stopped()) {
      const size_t next = next_.fetch_add(1);
      if (next >= cells_.size()) {
        return;
      }
      const Result<bool> ok = RunCell(*cells_[next]);
      const std::lock_guard lock(report_mutex_);
      if (!ok) {
        failed_ = true;
        if (!error_) {
          error_ = Error(ok.error()).WithContext(Describe(grid_, *cells_[next]));
        }
        return;
      }
      ++progress_.done;
      progress_.failed += *ok ? 0 : 1;
      progress_.elapsed = std::chrono::steady_clock::now() - begun_;
      observer_.OnCell(progress_);
    }
  }

  // Whether all went well.
  Result<bool> RunCell(const SweepCell& cell) {
    const SweepTrace& trace = grid_.traces[cell.trace];
    REMAPLAB_ASSIGN(const std::shared_ptr<const LoadedTrace> loaded, traces_.Get(trace));
    REMAPLAB_ASSIGN(const ReplayOptions options, ParseReplayFlags(cell.flags));
    SharedListener listener(store_mutex_, store_,
                            {.trace_name = std::filesystem::path(trace.path).filename().string(),
                             .command_line = options_.command_line,
                             .tag = options_.tag,
                             .cell = cell.key,
                             .position = static_cast<int64_t>(cell.position),
                             .campaign = grid_.campaign});
    Result<ProgramRun> run = ReplayProgram(loaded->trace, FindProgram(*loaded, trace.programs[cell.program]),
                                           cell.strategy, options, &listener);
    if (!run) {
      REMAPLAB_TRY(listener.Abort(run.error()));
      return Fail(std::move(run).error());
    }
    REMAPLAB_TRY(listener.Finish(*run));
    return !HasFailed(*run, options);
  }

  const SweepGrid& grid_;
  std::span<const SweepCell* const> cells_;
  Store& store_;
  const SweepOptions& options_;
  SweepObserver& observer_;

  TraceCache traces_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex store_mutex_;
  std::mutex report_mutex_;
  std::optional<Error> error_;  // the first
  SweepProgress progress_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<std::vector<const SweepCell*>> UnfinishedCells(const SweepGrid& grid, const Shard& shard, Store& store) {
  std::vector<const SweepCell*> unfinished;
  for (const SweepCell& cell : grid.cells) {
    if (ShardOf(cell, shard.count) != shard.index) {
      continue;
    }
    REMAPLAB_ASSIGN(const bool finished, store.HasFinishedCell(cell.key));
    if (!finished) {
      unfinished.push_back(&cell);
    }
  }
  return unfinished;
}

Status CheckCells(const SweepGrid& grid, const Shard& shard, uint32_t jobs) {
  TraceCache traces;
  for (const SweepCell& cell : grid.cells) {
    if (ShardOf(cell, shard.count) != shard.index || cell.repetition > 0) {
      continue;
    }
    if (IsMeasured(cell.flags) && jobs > 1) {
      return Fail(ErrorCode::kUsage,
                  "measured backends need --jobs 1: runs beside each other would disturb their times");
    }
    const SweepTrace& trace = grid.traces[cell.trace];
    REMAPLAB_ASSIGN(const std::shared_ptr<const LoadedTrace> loaded, traces.Get(trace));
    REMAPLAB_ASSIGN(const ReplayOptions options, ParseReplayFlags(cell.flags));
    const std::string strategies[] = {cell.strategy};
    Status checked =
        CheckReplay(loaded->trace, {&FindProgram(*loaded, trace.programs[cell.program]), 1}, strategies, options);
    if (!checked) {
      return Fail(std::move(checked).error().WithContext(Describe(grid, cell)));
    }
  }
  return {};
}

Result<SweepProgress> RunCells(const SweepGrid& grid, std::span<const SweepCell* const> cells, uint64_t skipped,
                               Store& store, const SweepOptions& options, SweepObserver& observer) {
  return Workers(grid, cells, skipped, store, options, observer).Run();
}

}  // namespace remaplab
