// One program's replay from set-up to teardown, event by event, so that several can be driven in turn
// (replay/together.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/inject_faults.h"
#include "backends/instrument.h"
#include "backends/profiles/cost_profile.h"
#include "backends/verify.h"
#include "engine/session.h"
#include "replay/backing_memory.h"
#include "replay/replayer.h"
#include "replay/step_recorder.h"

namespace remaplab {

class ProgramReplay {
 public:
  // `trace`, `program` and `listener` must outlive it. Errors: what makes the replay impossible.
  static Result<std::unique_ptr<ProgramReplay>> Create(const Trace& trace, const ProgramSteps& program,
                                                       std::string_view strategy, const ReplayOptions& options,
                                                       RunListener* listener);

  // The program's events in order. Steps that fail are no error: they are counted.
  Status Handle(const ProgramEvent& event);
  // Whether a failed cleanup or an interrupt has ended the run: nothing more may be handled.
  bool ended() const { return run_.poisoned || interrupted_; }
  // In a process of several (BackendOptions::sim_process) step ends are only final once the devices have met; then this
  // takes them.
  Status CollectEnds();
  // Gives everything back and sums up. Nothing may be called afterwards.
  ProgramRun Finish();

 private:
  ProgramReplay(const Trace& trace, const ProgramSteps& program, const ReplayOptions& options, RunListener* listener)
      : trace_(trace), program_(program), options_(options), listener_(listener) {}

  Status SetUp(std::string_view strategy_text);
  void DescribeRun();
  void Declare(uint32_t declaration);
  Status ReplayStep(uint32_t step);
  void CollectChanges(uint32_t step);
  Status BindMemory();
  void CollectUnproven();
  Status HandleFailure(Error error, std::optional<uint32_t> slot, CallKind kind);
  void TearDown();
  void Summarize();
  void NoteUnsureTerms();
  void Note(Severity severity, std::string text) { run_.diagnostics.push_back({severity, std::move(text)}); }

  const Trace& trace_;
  const ProgramSteps& program_;
  const ReplayOptions options_;
  RunListener* listener_;
  ProgramRun run_;

  PhaseSwitch phase_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<InjectFaults> faults_;
  std::unique_ptr<Instrument> instrument_;
  std::unique_ptr<Verify> verify_;
  CostProfile profile_;  // what the run is charged by on sim; elsewhere only what strategies decide by
  std::unique_ptr<BackingMemory> memory_;
  std::unique_ptr<RemapSession> session_;
  std::unique_ptr<StepRecorder> recorder_;

  uint64_t granularity_ = 0;
  std::vector<uint32_t> engine_slot_;      // trace slot position -> engine slot, or kNoEngineSlot
  std::vector<uint32_t> pending_backing_;  // by engine slot: bound by the trace, not yet told to the session
  std::vector<uint32_t> pending_slots_;
  std::vector<SlotChange> changes_;
  std::vector<uint32_t> slot_of_backing_;  // where a backing is bound, for re-issues; only with identity "address"
  std::vector<uint32_t> reissued_;
  std::vector<uint32_t> unproven_;
  uint64_t ordinal_ = 0;  // steps that the session has taken
  uint64_t allocation_failures_ = 0;
  bool interrupted_ = false;
  bool declared_ = false;

  static constexpr uint32_t kNotPending = ~0u - 1;  // kUnboundSlot is a binding of its own
};

}  // namespace remaplab
