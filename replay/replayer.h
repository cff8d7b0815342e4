// Replays one program of a trace under one strategy on one backend: makes the memory that the recording's allocator
// made, drives a RemapSession step by step, and collects what the store and the reports need.
//
// Threads: one call at a time per backend; traces are shared read-only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rows.h"
#include "backends/inject_faults.h"
#include "backends/registry.h"
#include "base/parse.h"
#include "base/result.h"
#include "replay/program_steps.h"
#include "traces/trace.h"

namespace remaplab {

enum class VerifyMode : uint8_t { kOff, kSample, kFull };

struct ReplayOptions {
  std::string backend = "sim";
  BackendOptions backend_options;
  uint64_t granularity = 0;  // 0: the trace's, else the backend's recommended one
  Ratio scale;               // sizes, before rounding (definitions.md section 4)
  bool command_buffer_slots_only = false;
  std::optional<int64_t> gpu_step_ns;  // instead of what the trace says
  uint64_t warmup = 1;                 // leading steps that total, median and p99 leave out
  VerifyMode verify = VerifyMode::kOff;
  std::vector<FaultSpec> faults;
  bool detail_calls = false;
  const std::atomic<bool>* stop = nullptr;  // set from outside: finish the step and give everything back
};

// Hears about a run while it goes on, outside timed sections. The rows are only valid during the call.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual Status OnStart(const RunInfo& info) = 0;
  virtual Status OnSteps(std::span<const StepRow> steps, std::span<const StepCallRow> calls) = 0;
  virtual Status OnCalls(std::span<const CallRow> calls) = 0;
};

struct ProgramRun {
  RunInfo info;
  RunSummary summary;
  ChurnMap churn;
  std::vector<FaultRow> faults;         // failed steps, the first kMaxDetails of them
  std::vector<MismatchRow> mismatches;  // wrong tags, the first kMaxDetails of them
  std::vector<DiagnosticRow> diagnostics;
  bool poisoned = false;

  static constexpr size_t kMaxDetails = 1000;
};

// Error: what makes the replay impossible (options, backend, strategy, input that the trace reader cannot see). Steps
// that fail are no error: they are counted, and the run goes on (definitions.md section 5).
Result<ProgramRun> ReplayProgram(const Trace& trace, const ProgramSteps& program, std::string_view strategy,
                                 const ReplayOptions& options, RunListener* listener);

// Finds out before the first step, and before anything is stored, whether every strategy can be carried out on every
// program with these options. Errors as ReplayProgram's.
Status CheckReplay(const Trace& trace, std::span<const ProgramSteps> programs, std::span<const std::string> strategies,
                   const ReplayOptions& options);

}  // namespace remaplab
