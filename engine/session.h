// RemapSession: one program on one backend under one strategy. It owns what the strategy needs from the driver (the
// reservations, what is mapped in them, shadows, events, command buffers), carries out the plan of each step, and gives
// everything back at the end, after the last use.
//
// Failure (definitions.md section 5): a step in which a call fails is not launched, or, when the failing call came after
// the launch, is completed by cleanup; either way it counts as failed. Cleanup waits, finishes what the launch left, and
// unmaps everything (semantics, rule 4); the next step starts with a first-step map. When cleanup itself fails the
// session is poisoned: it refuses further steps and gives back what it can.
//
// Threads: one. The backend must outlive the session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/phase.h"
#include "base/result.h"
#include "engine/mapped_set.h"
#include "engine/step_plan.h"
#include "engine/strategy.h"
#include "engine/types.h"

namespace remaplab {

struct SlotChange {
  uint32_t slot = 0;  // position in ProgramSpec::slots
  Binding binding;    // empty: the slot has no memory on this step
};

struct StepInput {
  uint64_t step = 0;  // the trace's number, for messages
  int64_t gpu_ns = 0;
  // Slots whose binding may differ from the previous step's; equal ones are noticed. All slots on a first step.
  std::span<const SlotChange> changes;
  // Unchanged slots whose backing was freed and handed out again since the previous step, without proof that it is the
  // same memory: a skip of them rests on an assumption (semantics, section 3).
  std::span<const uint32_t> unproven;
};

struct StepFailure {
  uint64_t step = 0;
  CallKind call = CallKind::kLaunch;
  std::optional<uint32_t> slot_index;  // XLA's allocation index, where the call concerns one slot
  bool in_cleanup = false;
  std::string message;
};

struct SessionCounters {
  uint64_t steps = 0;  // launched or not
  uint64_t failed_steps = 0;
  uint64_t changed_slot_steps = 0;   // over all slots, from the second step on
  uint64_t stale_slot_steps = 0;     // a launch read other memory than its slot's backing (the hazard)
  uint64_t stale_steps = 0;          // steps with at least one of them
  uint64_t assumed_skips = 0;        // skips that rest on an assumption
  uint64_t relayouts = 0;            // changes of class or slot set after the first step
  uint64_t slots_examined = 0;       // planning work: tests assert it, benchmarks time it
};

struct SessionMemory {
  uint64_t bytes_mapped = 0;     // content of the reservation, the largest that held
  uint64_t peak_reserved = 0;    // over all reservations at once
  uint64_t shadow_bytes = 0;     // peak
  uint64_t retained_bytes = 0;   // peak of memory that was freed and a mapping still holds
  uint64_t command_buffers = 0;  // peak number alive
};

class RemapSession {
 public:
  // `strategy` must have been made for `program`. `phase` tells instruments and fault injectors whose calls they see;
  // it may be null and must outlive the session.
  RemapSession(Backend& backend, ProgramSpec program, Strategy strategy, PhaseSwitch* phase = nullptr);
  // Tears down, ignoring errors, when Teardown was not called.
  ~RemapSession();
  RemapSession(const RemapSession&) = delete;
  RemapSession& operator=(const RemapSession&) = delete;

  // Carries out one step. An error means that the step failed; last_failure() has the details. kPoisoned: no further
  // step is possible. kInput: the step itself is impossible (a shadowed slot grew, semantics rule 3); nothing was called.
  Status Step(const StepInput& input);

  // From the next step on the program has these slots (semantics, rule 5). The same table again changes nothing;
  // another one costs a wait, a new reservation and a new capture. The next step must bind all slots.
  void Redeclare(ProgramSpec program);

  // The trace freed this backing: memory that a mapping still holds is retained from here on.
  void BackingFreed(BackingId backing);

  // Waits for the last use and gives everything back. Goes on past errors and returns the first.
  Status Teardown();

  const ProgramSpec& program() const { return program_; }
  const Strategy& strategy() const { return strategy_; }
  const SessionCounters& counters() const { return counters_; }
  const SessionMemory& memory() const { return memory_; }
  const std::optional<StepFailure>& last_failure() const { return failure_; }
  bool poisoned() const { return poisoned_; }
  std::span<const SlotClass> classes() const { return classes_; }
  std::span<const Binding> bindings() const { return bindings_; }
  // The calls of the last step as planned, a relayout before it included.
  std::string LastPlanText() const { return release_plan_.ToText() + plan_.ToText(); }

 private:
  struct Shadow {
    Address address = kNullAddress;
    uint64_t size = 0;
  };

  void InitializeSlots();
  void AddSet();
  PlanView View(const StepInput& input);
  void ApplyChanges(const StepInput& input);
  void UpdateStaleness(uint32_t slot, MappedSet& set);
  Status CheckShadowGrowth() const;
  bool ClassifySlots(const StepInput& input);
  void RebuildLayout();

  void PlanRelease(bool everything);
  void PlanSetUp(const PlanView& view, uint32_t set_index);
  void PlanLaunch(uint32_t set_index);

  Status Run(const StepPlan& plan, const StepInput& input);
  Status Execute(const PlanOp& op, const StepInput& input);
  Status ExecuteMap(const PlanOp& op);
  Status ExecuteUnmap(const PlanOp& op);
  Status ExecuteSetAccess(const PlanOp& op);
  Status ExecuteCopy(const PlanOp& op);
  Status ExecuteCapture(const PlanOp& op);
  Status ExecuteUpdate(const PlanOp& op);
  Status ExecuteReserve(const PlanOp& op);
  Status ExecuteAddressFree(const PlanOp& op);
  Status ExecuteShadowAlloc(const PlanOp& op);
  Status ExecuteShadowFree(const PlanOp& op);

  Status FailStep(Error error, const StepInput& input);
  Status CleanUp(const StepInput& input);
  Status Attempt(const Status& status, Status first);
  std::optional<uint32_t> SlotIndexOf(const PlanOp& op) const;
  BakedSlot Bake(uint32_t slot, const MappedSet& set) const;
  void NoteMapped(uint32_t slot, MappedSet& set);
  void NoteUnmapped(uint32_t slot, MappedSet& set);
  void CountHazards(const StepInput& input, const MappedSet& set);
  void SetPhase(Phase phase) {
    if (phase_ != nullptr) {
      phase_->phase = phase;
    }
  }

  Backend& backend_;
  ProgramSpec program_;
  std::optional<ProgramSpec> next_program_;
  Strategy strategy_;
  PhaseSwitch* phase_;

  std::vector<Binding> bindings_;         // by slot, this step's
  std::vector<SlotClass> policy_classes_; // what the policy wants, absent slots included
  std::vector<SlotClass> classes_;        // what holds
  std::vector<uint32_t> changed_;
  Layout layout_;
  std::vector<MappedSet> sets_;
  std::vector<Shadow> shadows_;           // by slot
  std::vector<uint32_t> shadowed_slots_;
  uint32_t shadows_missing_ = 0;

  StepPlan release_plan_;
  StepPlan plan_;
  std::vector<BakedSlot> baked_scratch_;
  size_t copies_out_done_ = 0;  // of the launched step, for cleanup
  bool launched_ = false;       // this step's launch has been enqueued
  bool recorded_ = false;
  uint32_t current_set_ = 0;
  std::optional<PlanOp> failing_op_;

  std::vector<uint32_t> mapped_times_;  // by backing
  std::vector<uint8_t> freed_;          // by backing
  uint64_t retained_now_ = 0;
  uint64_t reserved_now_ = 0;
  uint64_t shadow_now_ = 0;
  uint64_t command_buffers_now_ = 0;

  SessionCounters counters_;
  SessionMemory memory_;
  std::optional<StepFailure> failure_;
  bool presence_changed_ = false;
  bool needs_layout_ = true;
  bool poisoned_ = false;
  bool torn_down_ = false;
};

}  // namespace remaplab
