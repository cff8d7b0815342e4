// RemapSession: one program on one backend under one strategy. It owns what the strategy needs from the driver (the
// reservations, what is mapped in them, shadows, events, command buffers), carries out the plan of each step, and gives
// everything back at the end, after the last use.
//
// Failure (definitions.md section 5): a step in which a call fails is not launched, or, when the failing call came
// after the launch, is completed by cleanup; either way it counts as failed. Cleanup waits, finishes what the launch
// left, and unmaps everything (semantics, rule 4); the next step starts with a first-step map. When cleanup itself
// fails the session is poisoned: it refuses further steps and gives back what it can.
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
  uint64_t changed_slot_steps = 0;  // over all slots, from the second step on
  uint64_t stale_slot_steps = 0;    // a launch read other memory than its slot's backing (the hazard)
  uint64_t stale_steps = 0;         // steps with at least one of them
  uint64_t assumed_skips = 0;       // skips that rest on an assumption
  uint64_t relayouts = 0;           // changes of class or slot set after the first step
  uint64_t slots_examined = 0;      // planning work: tests assert it, benchmarks time it
};

struct SessionMemory {
  uint64_t bytes_mapped = 0;     // content of the reservation, the largest that held
  uint64_t peak_reserved = 0;    // over all reservations at once
  uint64_t shadow_bytes = 0;     // peak
  uint64_t retained_bytes = 0;   // peak of memory that was freed and a mapping still holds
  uint64_t retained_now = 0;     // of that, what is held at the moment
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
  // step is possible. kInput: the step itself is impossible (semantics, rule 2: there is no such slot; rule 3: a
  // shadowed slot grew); no call was made and no binding changed.
  Status Step(const StepInput& input);

  // From the next step on the program has these slots (semantics, rule 5). The same table again changes nothing;
  // another one costs a wait, a new reservation and a new capture. The next step must bind all slots.
  void Redeclare(ProgramSpec program);

  // The trace freed this backing: memory that a mapping still holds is retained from here on.
  void BackingFreed(BackingId backing);
  // Makes room for backings with ids below `count`, so that steps allocate nothing when new ones come.
  void ReserveBackings(size_t count) { uses_.reserve(count); }

  // Waits for the last use and gives everything back. A call that fails is tried once more; an error means that
  // something could not be given back even so. It goes on past errors, returns the first, and says how many there were.
  Status Teardown();

  const ProgramSpec& program() const { return program_; }
  // The slot table of the next step: that of Redeclare, if any.
  const ProgramSpec& upcoming_program() const { return next_program_ ? *next_program_ : program_; }
  // Slots whose backing differed from the previous step's in the last step, ascending.
  std::span<const uint32_t> changed() const { return changed_; }
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
  void ResetSet(MappedSet& set);
  void AddSet();
  PlanView View(const StepInput& input);
  void ApplyChanges(const StepInput& input);
  void UpdateStaleness(uint32_t slot, MappedSet& set);
  bool ClassifySlots(const StepInput& input);
  void RebuildLayout();
  Status CheckSlots(const StepInput& input) const;
  std::optional<uint32_t> GrownShadow() const;
  const SlotSpec* NextSpec(uint32_t slot) const;
  Error ShadowGrowthError(const StepInput& input, uint32_t slot) const;
  Status RefuseStep(const StepInput& input, std::optional<uint32_t> slot_index, Error error);
  Status SwitchProgram(const StepInput& input);
  Status EndStep(bool launched);
  Status RunStep(const StepInput& input);

  void PlanRelease(bool everything);
  void PlanSetUp(const PlanView& view, uint32_t set_index);
  void PlanLaunch(uint32_t set_index);

  Status Run(const StepPlan& plan);
  Status Execute(const PlanOp& op);
  Status Reserve(MappedSet& set);
  Status FreeAddress(MappedSet& set);
  Status Map(const PlanOp& op, MappedSet& set);
  Status Unmap(const PlanOp& op, MappedSet& set);
  Status GrantAccess(const PlanOp& op, MappedSet& set);
  Status Wait(MappedSet& set);
  Status Record(MappedSet& set);
  Status AllocateShadow(uint32_t slot);
  Status FreeShadow(uint32_t slot);
  Status Copy(const PlanOp& op);
  Status Capture(MappedSet& set);
  Status Update(MappedSet& set);
  Status Launch(MappedSet& set);

  Status FailStep(const Error& error, const StepInput& input, bool release_everything);
  Status CleanUp(bool release_everything);
  Status TearDownOne(const PlanOp& op);
  void ForgetSets();
  void ForgetMappings(MappedSet& set);
  std::optional<uint32_t> SlotIndexOf(const PlanOp& op) const;
  BakedSlot Bake(uint32_t slot, const MappedSet& set) const;
  void NoteMapped(uint32_t slot, MappedSet& set);
  void NoteUnmapped(uint32_t slot, MappedSet& set);
  void CountHazards(const StepInput& input, const MappedSet& set);
  void SetPhase(Phase phase);

  Backend& backend_;
  ProgramSpec program_;
  std::optional<ProgramSpec> next_program_;
  Strategy strategy_;
  PhaseSwitch* phase_;

  // By slot.
  std::vector<Binding> bindings_;          // this step's
  std::vector<SlotClass> policy_classes_;  // what the policy wants, whether the slot has memory or not
  std::vector<SlotClass> classes_;         // what holds
  std::vector<Shadow> shadows_;
  std::vector<uint64_t> mapped_step_;  // ordinal of the step that mapped it last

  std::vector<uint32_t> changed_;
  std::vector<uint32_t> shadowed_slots_;
  uint32_t shadows_missing_ = 0;
  Layout layout_;
  std::vector<MappedSet> sets_;

  StepPlan release_plan_;
  StepPlan plan_;
  std::vector<BakedSlot> baked_;       // scratch
  const StepPlan* running_ = nullptr;  // the plan in which a call failed, and at which call
  size_t running_at_ = 0;
  bool launched_ = false;  // this step's launch has been enqueued
  bool copied_ = false;    // a copy into a shadow has been enqueued
  int64_t gpu_ns_ = 0;     // of this step

  struct BackingUse {
    uint64_t mapped_size = 0;
    uint32_t mappings = 0;  // in all sets
    bool freed = false;     // by the trace
  };
  std::vector<BackingUse> uses_;  // by backing

  uint64_t reserved_now_ = 0;
  uint64_t shadow_now_ = 0;
  uint64_t command_buffers_now_ = 0;

  SessionCounters counters_;
  SessionMemory memory_;
  std::optional<StepFailure> failure_;
  bool presence_changed_ = false;  // a slot got or lost its memory
  bool fresh_table_ = true;        // the policy has not seen this slot table
  bool first_bindings_ = true;     // no previous step to compare bindings with
  bool layout_owed_ = true;        // none has been made yet, or what was to precede it failed
  bool poisoned_ = false;
  bool torn_down_ = false;
};

}  // namespace remaplab
