// The results store: one SQLite file that holds runs and what was measured in them. Only this folder speaks SQL.
//
// Replay writes like this:
//
//   REMAPLAB_ASSIGN(Store store, Store::OpenForWriting("results.sqlite"));
//   REMAPLAB_ASSIGN(const RunId run, store.BeginRun(info));          // on disk at once, as `running`
//   REMAPLAB_TRY(store.AppendSteps(run, steps, step_calls));         // between timed sections; buffered
//   REMAPLAB_TRY(store.FinishRun(run, summary));                     // flushed, summary, status
//   REMAPLAB_TRY(store.Close());                                     // one plain file
//
// A process that dies at any moment leaves a file that passes integrity_check; its run says `running`. Rows are written
// in transactions of a few thousand; no transaction stays open between two calls, so that several processes can
// write to one store on one host. Stores on a network file system: write node-locally and move.
//
// Errors: kIo when the file cannot be opened, read or written (also: locked, read-only), kInput when its content is not
// a store of ours (foreign, damaged, truncated, newer than this binary). Messages name the file.
//
// Threads: a Store is used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rows.h"
#include "base/result.h"

namespace remaplab {

class Database;  // analysis/sqlite.h

using RunId = int64_t;  // within one store; across stores a run is its uuid

// Where a run's rows begin in the tables whose id carries the run (schema/001_runs.sql).
constexpr int64_t RunKey(RunId run) { return run << 36; }

class Store {
 public:
  // How long to wait for another process that holds the file.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // Opens or creates. An older store is brought to the newest schema, each version in one transaction.
  static Result<Store> OpenForWriting(const std::string& path, std::chrono::milliseconds patience = kPatience);
  // Opens what is there and never changes it; an older store is migrated in a private copy.
  static Result<Store> OpenForReading(const std::string& path, std::chrono::milliseconds patience = kPatience);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  // Closes, ignoring errors, when Close was not called.
  ~Store();

  // Adds a run with status `running`. Trace, program, cost profile, host and campaign are written once per identity.
  Result<RunId> BeginRun(const RunInfo& info);

  // Rows of a run's steps. `steps` in ascending order, each step in one row of the run; `calls` refer to them by step.
  // Copies the rows and writes when some thousands have gathered: never call it inside a timed section.
  Status AppendSteps(RunId run, std::span<const StepRow> steps, std::span<const StepCallRow> calls);
  // In the order in which they were made.
  Status AppendCalls(RunId run, std::span<const CallRow> calls);
  Status AppendFaults(RunId run, std::span<const FaultRow> faults);
  Status AppendMismatches(RunId run, std::span<const MismatchRow> mismatches);
  Status AppendDiagnostics(RunId run, std::span<const DiagnosticRow> diagnostics);
  Status AppendResiduals(RunId run, std::span<const ResidualRow> residuals);
  // Which slots of the run's program move when. Kept once per run's program; further calls for it change nothing.
  Status AddChurn(RunId run, const ChurnMap& churn);

  // Writes what is buffered and the summary in one transaction; the run is then finished, failed or interrupted.
  Status FinishRun(RunId run, const RunSummary& summary);
  // Whether the sweep cell of that key has a finished run.
  Result<bool> HasFinishedCell(std::string_view cell);
  Result<std::string> RunUuid(RunId run);

  // Writes what is buffered.
  Status Flush();
  // Flushes, folds the write-ahead log into the file and leaves one plain file behind. Nothing else may be called
  // afterwards.
  Status Close();

  const std::string& path() const;
  // The connection, for the rest of this folder.
  Database& database();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace remaplab
