#include "engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace remaplab {
namespace {

// What a policy compares to tell whether a slot still holds its memory. An unknown address equals nothing but itself.
uint64_t IdentityKey(const Binding& binding, Identity identity) {
  constexpr uint64_t kNoAddress = 1ull << 63;
  if (identity == Identity::kBacking) {
    return binding.backing;
  }
  return binding.trace_address != kNullAddress ? binding.trace_address : binding.backing | kNoAddress;
}

}  // namespace

RemapSession::RemapSession(Backend& backend, ProgramSpec program, Strategy strategy, PhaseSwitch* phase)
    : backend_(backend), program_(std::move(program)), strategy_(std::move(strategy)), phase_(phase) {
  InitializeSlots();
  AddSet();
}

RemapSession::~RemapSession() {
  if (!torn_down_) {
    static_cast<void>(Teardown());
  }
}

void RemapSession::SetPhase(Phase phase) {
  if (phase_ != nullptr) {
    phase_->phase = phase;
  }
}

void RemapSession::InitializeSlots() {
  const size_t slots = program_.slots.size();
  bindings_.assign(slots, Binding());
  policy_classes_.assign(slots, SlotClass::kMapped);
  classes_.assign(slots, SlotClass::kAbsent);
  shadows_.assign(slots, Shadow());
  mapped_step_.assign(slots, 0);
  changed_.clear();
  changed_.reserve(slots);
  baked_.reserve(slots);
  plan_.Reserve(4 * slots + 8);
  shadowed_slots_.clear();
  layout_ = Layout();
  layout_.position_of_slot.assign(slots, Layout::kNotMapped);
  fresh_table_ = true;
  first_bindings_ = true;
  layout_owed_ = true;
}

void RemapSession::ResetSet(MappedSet& set) {
  const size_t slots = program_.slots.size();
  set.content.assign(slots, Binding());
  set.stale_mapped.Resize(slots);
  set.stale_dynamic.Resize(slots);
  set.wrong_memory.Resize(slots);
}

void RemapSession::AddSet() { ResetSet(sets_.emplace_back()); }

PlanView RemapSession::View(const StepInput& input) {
  return PlanView{.program = program_,
                  .capabilities = backend_.capabilities(),
                  .layout = layout_,
                  .classes = classes_,
                  .bindings = bindings_,
                  .changed = changed_,
                  .ordinal = counters_.steps,
                  .fresh_table = fresh_table_,
                  .gpu_ns = input.gpu_ns,
                  .sets = sets_};
}

// --- What changed, and which class each slot has

void RemapSession::ApplyChanges(const StepInput& input) {
  changed_.clear();
  for (const SlotChange& change : input.changes) {
    Binding& binding = bindings_[change.slot];
    if (binding.backing == change.binding.backing) {
      continue;
    }
    presence_changed_ |= binding.empty() != change.binding.empty();
    binding = change.binding;
    changed_.push_back(change.slot);
    for (MappedSet& set : sets_) {
      UpdateStaleness(change.slot, set);
    }
  }
  if (!std::is_sorted(changed_.begin(), changed_.end(), std::less_equal<>())) {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }
  counters_.slots_examined += input.changes.size() * sets_.size();
  counters_.changed_slot_steps += first_bindings_ ? 0 : changed_.size();
  first_bindings_ = false;
}

void RemapSession::UpdateStaleness(uint32_t slot, MappedSet& set) {
  const Binding& wanted = bindings_[slot];
  const Binding& held = set.content[slot];
  const Identity identity = strategy_.remap->identity();
  const bool mapped = classes_[slot] == SlotClass::kMapped && set.mapped;
  const bool stale = mapped && IdentityKey(held, identity) != IdentityKey(wanted, identity);
  const bool baked = classes_[slot] == SlotClass::kDynamic && set.command_buffer != kNoCommandBuffer;
  set.stale_mapped.Assign(slot, stale);
  set.wrong_memory.Assign(slot, mapped && !stale && held.backing != wanted.backing);
  set.stale_dynamic.Assign(slot, baked && held.backing != wanted.backing);
}

// Asks the policy and says whether any slot's class differs from what is laid out.
bool RemapSession::ClassifySlots(const StepInput& input) {
  const bool asked = strategy_.slots->Classify(View(input), policy_classes_);
  fresh_table_ = false;
  if (!layout_owed_ && !asked && !presence_changed_) {
    return false;
  }
  presence_changed_ = false;
  bool differs = layout_owed_;
  for (size_t slot = 0; slot < classes_.size() && !differs; ++slot) {
    differs = classes_[slot] != (bindings_[slot].empty() ? SlotClass::kAbsent : policy_classes_[slot]);
  }
  counters_.slots_examined += classes_.size();
  return differs;
}

void RemapSession::RebuildLayout() {
  layout_.slot_of_position.clear();
  layout_.offset.assign(1, 0);
  shadowed_slots_.clear();
  shadows_missing_ = 0;
  for (uint32_t slot = 0; slot < classes_.size(); ++slot) {
    classes_[slot] = bindings_[slot].empty() ? SlotClass::kAbsent : policy_classes_[slot];
    layout_.position_of_slot[slot] = Layout::kNotMapped;
    if (classes_[slot] == SlotClass::kMapped) {
      layout_.position_of_slot[slot] = layout_.positions();
      layout_.slot_of_position.push_back(slot);
      layout_.offset.push_back(layout_.offset.back() + program_.slots[slot].mapped_size);
    } else if (classes_[slot] == SlotClass::kShadowed) {
      shadowed_slots_.push_back(slot);
      shadows_missing_ += shadows_[slot].address == kNullAddress ? 1 : 0;
    }
  }
  memory_.bytes_mapped = std::max(memory_.bytes_mapped, layout_.bytes());
  for (MappedSet& set : sets_) {
    for (uint32_t slot = 0; slot < classes_.size(); ++slot) {
      UpdateStaleness(slot, set);
    }
  }
  counters_.slots_examined += classes_.size() * (1 + sets_.size());
  layout_owed_ = false;
}

// --- Plans

// Gives back what the present layout holds: everything, or all but the shadows that the new classes keep.
void RemapSession::PlanRelease(bool everything) {
  release_plan_.Clear();
  const auto newest = std::max_element(
      sets_.begin(), sets_.end(), [](const MappedSet& a, const MappedSet& b) { return a.last_used < b.last_used; });
  const bool holds = std::any_of(sets_.begin(), sets_.end(), [](const MappedSet& set) {
    return set.base != kNullAddress || set.command_buffer != kNoCommandBuffer;
  });
  if (newest->in_flight && (everything || holds)) {
    PlanWait(static_cast<uint32_t>(newest - sets_.begin()), release_plan_);
  }
  const PlanView view = View(StepInput());
  for (uint32_t set = 0; set < sets_.size(); ++set) {
    PlanUnmapAll(view, set, release_plan_);
    if (sets_[set].base != kNullAddress) {
      release_plan_.Add({.kind = CallKind::kAddressFree, .set = static_cast<uint8_t>(set)});
    }
  }
  for (uint32_t slot = 0; slot < shadows_.size(); ++slot) {
    const bool keep = !everything && policy_classes_[slot] == SlotClass::kShadowed && !bindings_[slot].empty();
    if (shadows_[slot].address != kNullAddress && !keep) {
      release_plan_.Add({.kind = CallKind::kShadowFree, .slot = slot});
    }
  }
}

// What the set lacks for this step: reservation, shadows, current mappings, command buffer with current addresses.
void RemapSession::PlanSetUp(const PlanView& view, uint32_t set_index) {
  const MappedSet& set = sets_[set_index];
  const uint8_t id = static_cast<uint8_t>(set_index);
  if (!strategy_.slots->UsesCommandBuffer(counters_.steps)) {
    return;
  }
  const bool any_mapped = layout_.positions() > 0;
  if (any_mapped && set.base == kNullAddress) {
    plan_.Add({.kind = CallKind::kReserve, .set = id});
  }
  for (size_t i = 0; i < shadowed_slots_.size() && shadows_missing_ > 0; ++i) {
    if (shadows_[shadowed_slots_[i]].address == kNullAddress) {
      plan_.Add({.kind = CallKind::kShadowAlloc, .slot = shadowed_slots_[i]});
    }
  }
  if (any_mapped && set.mapped) {
    strategy_.remap->PlanRemap(view, set_index, plan_);
  } else if (any_mapped) {
    PlanMapAll(view, set_index, plan_);
  }
  if (set.command_buffer == kNoCommandBuffer) {
    plan_.Add({.kind = CallKind::kCapture, .set = id});
  } else if (!set.stale_dynamic.empty()) {
    plan_.Add({.kind = CallKind::kUpdate, .set = id, .count = static_cast<uint32_t>(set.stale_dynamic.size())});
  }
}

// Without a command buffer the step reads and writes the backings themselves: shadows would undo that.
void RemapSession::PlanLaunch(uint32_t set_index) {
  const uint8_t id = static_cast<uint8_t>(set_index);
  const std::span<const uint32_t> shadowed = strategy_.slots->UsesCommandBuffer(counters_.steps)
                                                 ? std::span<const uint32_t>(shadowed_slots_)
                                                 : std::span<const uint32_t>();
  for (const uint32_t slot : shadowed) {
    if (strategy_.slots->CopiesIn(program_.slots[slot])) {
      plan_.Add({.kind = CallKind::kCopy, .set = id, .slot = slot});
    }
  }
  plan_.Add({.kind = CallKind::kLaunch, .set = id});
  for (const uint32_t slot : shadowed) {
    if (strategy_.slots->CopiesOut(program_.slots[slot])) {
      plan_.Add({.kind = CallKind::kCopy, .set = id, .copy_out = true, .slot = slot});
    }
  }
  plan_.Add({.kind = CallKind::kRecord, .set = id});
}

// --- Steps

void RemapSession::Redeclare(ProgramSpec program) { next_program_ = std::move(program); }

Status RemapSession::Step(const StepInput& input) {
  if (poisoned_) {
    return Fail(ErrorCode::kPoisoned, "a cleanup failed earlier; the session takes no further step");
  }
  SetPhase(Phase::kSteps);
  ++counters_.steps;
  gpu_ns_ = input.gpu_ns;
  launched_ = false;
  copied_ = false;
  failure_.reset();
  changed_.clear();
  release_plan_.Clear();
  plan_.Clear();
  if (Status begun = backend_.BeginStep(counters_.steps); !begun) {
    poisoned_ = true;  // the device no longer finishes its work: nothing can be waited for
    ++counters_.failed_steps;
    return Fail(ErrorCode::kPoisoned, begun.error().message());
  }
  if (next_program_ && next_program_->slots == program_.slots) {
    program_.commands = next_program_->commands;
    next_program_.reset();
  }
  if (Status checked = CheckSlots(input); !checked) {
    return RefuseStep(input, std::nullopt, std::move(checked).error());
  }
  if (next_program_) {
    REMAPLAB_TRY(SwitchProgram(input));
  }
  return RunStep(input);
}

// Semantics, rule 2: a slot that the table does not have is an error, not memory somewhere.
Status RemapSession::CheckSlots(const StepInput& input) const {
  const size_t slots = upcoming_program().slots.size();
  for (const SlotChange& change : input.changes) {
    if (change.slot >= slots) [[unlikely]] {
      return Fail(ErrorCode::kInput, fmt::format("slot position {} is out of range: the program has {} slots (rule 2)",
                                                 change.slot, slots));
    }
  }
  for (const uint32_t slot : input.unproven) {
    if (slot >= slots) [[unlikely]] {
      return Fail(ErrorCode::kInput,
                  fmt::format("slot position {} is out of range: the program has {} slots (rule 2)", slot, slots));
    }
  }
  return {};
}

Status RemapSession::RefuseStep(const StepInput& input, std::optional<uint32_t> slot_index, Error error) {
  ++counters_.failed_steps;
  failure_ = StepFailure{input.step, CallKind::kLaunch, slot_index, false, error.message()};
  REMAPLAB_TRY(EndStep(/*launched=*/false));
  return Fail(std::move(error));
}

// Semantics, rule 5: another slot set is another layout and another command buffer.
Status RemapSession::SwitchProgram(const StepInput& input) {
  if (const std::optional<uint32_t> grown = GrownShadow()) {
    return RefuseStep(input, program_.slots[*grown].index, ShadowGrowthError(input, *grown));
  }
  PlanRelease(/*everything=*/true);
  Status released = Run(release_plan_);
  if (!released) {
    released = FailStep(released.error(), input, /*release_everything=*/true);
    if (poisoned_) {
      return released;
    }
  }
  ForgetSets();
  counters_.relayouts += counters_.steps > 1 ? 1 : 0;
  program_ = std::move(*next_program_);
  next_program_.reset();
  InitializeSlots();
  for (MappedSet& set : sets_) {
    ResetSet(set);
  }
  if (!released) {
    ApplyChanges(input);  // the step failed, but the bindings hold
  }
  return released;
}

// Semantics, rule 3: a slot that has a shadow and will be too large for it.
std::optional<uint32_t> RemapSession::GrownShadow() const {
  if (layout_owed_) {
    return std::nullopt;  // no command buffer will use the shadows that are left
  }
  for (const uint32_t slot : shadowed_slots_) {
    const SlotSpec* next = NextSpec(slot);
    if (next != nullptr && shadows_[slot].address != kNullAddress && next->size > shadows_[slot].size) {
      return slot;
    }
  }
  return std::nullopt;
}

// The same allocation in the next slot table.
const SlotSpec* RemapSession::NextSpec(uint32_t slot) const {
  const std::vector<SlotSpec>& next = next_program_->slots;
  const uint32_t index = program_.slots[slot].index;
  const auto found = std::lower_bound(next.begin(), next.end(), index,
                                      [](const SlotSpec& spec, uint32_t wanted) { return spec.index < wanted; });
  return found != next.end() && found->index == index ? &*found : nullptr;
}

Error RemapSession::ShadowGrowthError(const StepInput& input, uint32_t slot) const {
  return Error(
      ErrorCode::kInput,
      fmt::format("step {}: shadowed slot {} grew from {} to {} bytes after capture; a shadow never grows, its "
                  "address is baked in (rule 3)",
                  input.step, program_.slots[slot].index, shadows_[slot].size, NextSpec(slot)->size));
}

Status RemapSession::RunStep(const StepInput& input) {
  ApplyChanges(input);
  if (ClassifySlots(input)) {
    PlanRelease(/*everything=*/false);
    layout_owed_ = true;  // also when the release fails: what is gone of the old layout is gone
    if (Status released = Run(release_plan_); !released) {
      return FailStep(released.error(), input, /*release_everything=*/false);
    }
    counters_.relayouts += release_plan_.ops().empty() ? 0 : 1;
    ForgetSets();
    RebuildLayout();
  }
  const PlanView view = View(input);
  const uint32_t set_index = strategy_.remap->PickSet(view);
  while (set_index >= sets_.size()) {
    AddSet();
  }
  PlanSetUp(view, set_index);
  PlanLaunch(set_index);
  counters_.slots_examined += plan_.ops().size();
  if (Status done = Run(plan_); !done) {
    return FailStep(done.error(), input, /*release_everything=*/false);
  }
  CountHazards(input, sets_[set_index]);
  return EndStep(/*launched=*/true);
}

Status RemapSession::EndStep(bool launched) {
  Status ended = backend_.EndStep(counters_.steps, launched);
  if (!ended) {
    poisoned_ = true;  // as when a step cannot begin
    return Fail(ErrorCode::kPoisoned, ended.error().message());
  }
  return {};
}

void RemapSession::CountHazards(const StepInput& input, const MappedSet& set) {
  counters_.stale_slot_steps += set.wrong_memory.size();
  counters_.stale_steps += set.wrong_memory.empty() ? 0 : 1;
  for (const uint32_t slot : input.unproven) {
    const bool skipped = classes_[slot] == SlotClass::kMapped && mapped_step_[slot] != counters_.steps;
    counters_.assumed_skips += skipped ? 1 : 0;
  }
}

void RemapSession::BackingFreed(BackingId backing) {
  if (backing >= uses_.size()) {
    uses_.resize(backing + 1);
  }
  BackingUse& use = uses_[backing];
  memory_.retained_now += use.mappings > 0 && !use.freed ? use.mapped_size : 0;
  use.freed = true;
  memory_.retained_bytes = std::max(memory_.retained_bytes, memory_.retained_now);
}

Status RemapSession::Teardown() {
  if (torn_down_) {
    return {};
  }
  torn_down_ = true;
  SetPhase(Phase::kTeardown);
  plan_.Clear();
  PlanRelease(/*everything=*/true);
  Status first;
  size_t failures = 0;
  const auto note = [&](Status status) {
    failures += status ? 0 : 1;
    if (!status && first) {
      first = std::move(status);
    }
  };
  for (const PlanOp& op : release_plan_.ops()) {
    note(TearDownOne(op));
  }
  ForgetSets();
  for (MappedSet& set : sets_) {
    if (set.has_event) {
      note(backend_.DestroyEvent(set.event));
    }
  }
  if (failures > 1) {
    return Fail(std::move(first).error().WithContext(fmt::format("{} calls failed, the first", failures)));
  }
  return first;
}

// A call that fails is tried once more, as cleanup: nothing comes after teardown that could make up for it.
Status RemapSession::TearDownOne(const PlanOp& op) {
  Status done = Execute(op);
  if (done) {
    return done;
  }
  failure_ = StepFailure{0, op.kind, SlotIndexOf(op), true, done.error().message()};
  SetPhase(Phase::kCleanup);
  done = Execute(op);
  if (!done && op.kind == CallKind::kWait) {
    done = backend_.Synchronize();  // what follows must not happen while the device may be at work
  }
  SetPhase(Phase::kTeardown);
  return done;
}

// --- Failure

Status RemapSession::FailStep(const Error& error, const StepInput& input, bool release_everything) {
  ++counters_.failed_steps;
  const PlanOp op = running_->ops()[running_at_];
  failure_ = StepFailure{input.step, op.kind, SlotIndexOf(op), false, error.message()};
  const std::string at = failure_->slot_index ? fmt::format(" of slot {}", *failure_->slot_index) : std::string();
  std::string text = fmt::format("step {}: {}{} failed: {}", input.step, Name(op.kind), at, error.message());
  Status cleaned = CleanUp(release_everything);
  const Status ended = EndStep(launched_);
  if (!cleaned) {
    poisoned_ = true;
    failure_->in_cleanup = true;
    return Fail(ErrorCode::kPoisoned, fmt::format("{}; then cleanup failed: {}", text, cleaned.error().message()));
  }
  REMAPLAB_TRY(ended);
  return Fail(error.code(), std::move(text));
}

// Leaves "nothing mapped" and every finished launch's results where they belong.
Status RemapSession::CleanUp(bool release_everything) {
  SetPhase(Phase::kCleanup);
  if (launched_ || copied_) {
    for (const PlanOp& op : running_->ops().subspan(running_at_)) {
      if (op.kind == CallKind::kRecord || (op.copy_out && launched_)) {
        REMAPLAB_TRY(Execute(op));
      }
    }
  }
  if (release_everything) {
    PlanRelease(/*everything=*/true);
    for (const PlanOp& op : release_plan_.ops()) {
      REMAPLAB_TRY(Execute(op));
    }
  } else {
    const bool any_mapped =
        std::any_of(sets_.begin(), sets_.end(), [](const MappedSet& s) { return s.mapped_count > 0; });
    const auto newest = std::max_element(
        sets_.begin(), sets_.end(), [](const MappedSet& a, const MappedSet& b) { return a.last_used < b.last_used; });
    StepPlan unmaps;
    if (any_mapped && newest->in_flight) {
      PlanWait(static_cast<uint32_t>(newest - sets_.begin()), unmaps);
    }
    for (uint32_t set = 0; set < sets_.size(); ++set) {
      PlanUnmapAll(View(StepInput()), set, unmaps);
    }
    for (const PlanOp& op : unmaps.ops()) {
      REMAPLAB_TRY(Execute(op));
    }
  }
  for (MappedSet& set : sets_) {
    ForgetMappings(set);
  }
  SetPhase(Phase::kSteps);
  return {};
}

// After a release: nothing is mapped, and the command buffers' addresses are gone.
void RemapSession::ForgetSets() {
  for (MappedSet& set : sets_) {
    if (set.command_buffer != kNoCommandBuffer) {
      static_cast<void>(backend_.DestroyCommandBuffer(std::exchange(set.command_buffer, kNoCommandBuffer)));
      --command_buffers_now_;
    }
    ForgetMappings(set);
    set.stale_dynamic.Clear();
  }
}

void RemapSession::ForgetMappings(MappedSet& set) {
  set.mapped = false;
  set.stale_mapped.Clear();
  set.wrong_memory.Clear();
}

std::optional<uint32_t> RemapSession::SlotIndexOf(const PlanOp& op) const {
  switch (op.kind) {
    case CallKind::kMap:
    case CallKind::kCopy:
    case CallKind::kShadowAlloc:
    case CallKind::kShadowFree:
      return program_.slots[op.slot].index;
    case CallKind::kUnmap:
    case CallKind::kSetAccess:
      return program_.slots[layout_.slot_of_position[op.slot]].index;
    default:
      return std::nullopt;
  }
}

// --- Calls

Status RemapSession::Run(const StepPlan& plan) {
  running_ = &plan;
  const std::span<const PlanOp> ops = plan.ops();
  for (running_at_ = 0; running_at_ < ops.size(); ++running_at_) {
    if (Status status = Execute(ops[running_at_]); !status) [[unlikely]] {
      return status;
    }
  }
  return {};
}

Status RemapSession::Execute(const PlanOp& op) {
  MappedSet& set = sets_[op.set];
  switch (op.kind) {
    case CallKind::kReserve:
      return Reserve(set);
    case CallKind::kAddressFree:
      return FreeAddress(set);
    case CallKind::kMap:
      return Map(op, set);
    case CallKind::kUnmap:
      return Unmap(op, set);
    case CallKind::kSetAccess:
      return GrantAccess(op, set);
    case CallKind::kWait:
      return Wait(set);
    case CallKind::kRecord:
      return Record(set);
    case CallKind::kShadowAlloc:
      return AllocateShadow(op.slot);
    case CallKind::kShadowFree:
      return FreeShadow(op.slot);
    case CallKind::kCopy:
      return Copy(op);
    case CallKind::kCapture:
      return Capture(set);
    case CallKind::kUpdate:
      return Update(set);
    case CallKind::kLaunch:
      return Launch(set);
    case CallKind::kCreate:
    case CallKind::kRelease:
      break;
  }
  return Fail(ErrorCode::kInternal, fmt::format("a plan has no {} calls", Name(op.kind)));
}

Status RemapSession::Reserve(MappedSet& set) {
  // The driver's own alignment will do: some drivers accept a wider one and do not honour it.
  REMAPLAB_ASSIGN(set.base, backend_.Reserve(layout_.bytes(), 0));
  set.reserved = layout_.bytes();
  reserved_now_ += set.reserved;
  memory_.peak_reserved = std::max(memory_.peak_reserved, reserved_now_);
  return {};
}

Status RemapSession::FreeAddress(MappedSet& set) {
  REMAPLAB_TRY(backend_.AddressFree(set.base, set.reserved));
  reserved_now_ -= set.reserved;
  set.base = kNullAddress;
  set.reserved = 0;
  return {};
}

Status RemapSession::Map(const PlanOp& op, MappedSet& set) {
  const Address at = set.base + layout_.offset[layout_.position_of_slot[op.slot]];
  REMAPLAB_TRY(backend_.Map(at, program_.slots[op.slot].mapped_size, bindings_[op.slot].memory.handle));
  NoteMapped(op.slot, set);
  return {};
}

Status RemapSession::Unmap(const PlanOp& op, MappedSet& set) {
  const uint64_t begin = layout_.offset[op.slot];
  REMAPLAB_TRY(backend_.Unmap(set.base + begin, layout_.offset[op.slot + op.count] - begin));
  for (uint32_t position = op.slot; position < op.slot + op.count; ++position) {
    NoteUnmapped(layout_.slot_of_position[position], set);
  }
  return {};
}

Status RemapSession::GrantAccess(const PlanOp& op, MappedSet& set) {
  const uint64_t begin = layout_.offset[op.slot];
  REMAPLAB_TRY(backend_.SetAccess(set.base + begin, layout_.offset[op.slot + op.count] - begin, op.device));
  if (set.mapped_count == layout_.positions() && op.device + 1u == program_.devices) {
    set.mapped = true;
  }
  return {};
}

Status RemapSession::Wait(MappedSet& set) {
  if (set.has_event) {
    REMAPLAB_TRY(backend_.Wait(set.event));
  }
  for (MappedSet& other : sets_) {  // one stream, in order: what was launched before this set's last use is done too
    other.in_flight = other.in_flight && other.last_used > set.last_used;
  }
  return {};
}

Status RemapSession::Record(MappedSet& set) {
  if (!set.has_event) {
    REMAPLAB_ASSIGN(set.event, backend_.CreateEvent());
    set.has_event = true;
  }
  return backend_.Record(set.event);
}

Status RemapSession::AllocateShadow(uint32_t slot) {
  const SlotSpec& spec = program_.slots[slot];
  REMAPLAB_ASSIGN(shadows_[slot].address, backend_.ShadowAlloc(spec.size, program_.device, spec.space));
  shadows_[slot].size = spec.size;
  --shadows_missing_;
  shadow_now_ += spec.size;
  memory_.shadow_bytes = std::max(memory_.shadow_bytes, shadow_now_);
  return {};
}

Status RemapSession::FreeShadow(uint32_t slot) {
  REMAPLAB_TRY(backend_.ShadowFree(shadows_[slot].address, shadows_[slot].size));
  shadow_now_ -= shadows_[slot].size;
  shadows_[slot] = Shadow();
  return {};
}

Status RemapSession::Copy(const PlanOp& op) {
  const Address shadow = shadows_[op.slot].address;
  const Address real = bindings_[op.slot].memory.address;
  if (op.copy_out) {
    return backend_.Copy(real, shadow, program_.slots[op.slot].size);
  }
  REMAPLAB_TRY(backend_.Copy(shadow, real, program_.slots[op.slot].size));
  // From here on the device uses the shadow, whether the launch comes or fails: rule 1 waits for that too.
  copied_ = true;
  sets_[op.set].in_flight = true;
  sets_[op.set].last_used = counters_.steps;
  return {};
}

BakedSlot RemapSession::Bake(uint32_t slot, const MappedSet& set) const {
  Address address = bindings_[slot].memory.address;
  if (classes_[slot] == SlotClass::kMapped) {
    address = set.base + layout_.offset[layout_.position_of_slot[slot]];
  } else if (classes_[slot] == SlotClass::kShadowed) {
    address = shadows_[slot].address;
  }
  return BakedSlot{slot, address, program_.slots[slot].size, program_.slots[slot].access};
}

Status RemapSession::Capture(MappedSet& set) {
  baked_.clear();
  for (uint32_t slot = 0; slot < classes_.size(); ++slot) {
    if (classes_[slot] != SlotClass::kAbsent) {
      baked_.push_back(Bake(slot, set));
    }
  }
  REMAPLAB_ASSIGN(set.command_buffer, backend_.Capture(baked_, program_.commands));
  memory_.command_buffers = std::max(memory_.command_buffers, ++command_buffers_now_);
  for (const BakedSlot& baked : baked_) {
    if (classes_[baked.slot] == SlotClass::kDynamic) {
      set.content[baked.slot] = bindings_[baked.slot];
    }
  }
  return {};
}

Status RemapSession::Update(MappedSet& set) {
  baked_.clear();
  for (const uint32_t slot : set.stale_dynamic.Sorted()) {
    baked_.push_back(Bake(slot, set));
  }
  REMAPLAB_TRY(backend_.Update(set.command_buffer, baked_, program_.commands));
  for (const BakedSlot& baked : baked_) {
    set.content[baked.slot] = bindings_[baked.slot];
  }
  set.stale_dynamic.Clear();
  return {};
}

Status RemapSession::Launch(MappedSet& set) {
  REMAPLAB_TRY(backend_.Launch({.command_buffer = set.command_buffer, .gpu_ns = gpu_ns_, .bindings = bindings_}));
  launched_ = true;
  set.in_flight = true;
  set.last_used = counters_.steps;
  return {};
}

// --- What mappings hold

void RemapSession::NoteMapped(uint32_t slot, MappedSet& set) {
  const BackingId backing = bindings_[slot].backing;
  set.content[slot] = bindings_[slot];
  ++set.mapped_count;
  mapped_step_[slot] = counters_.steps;
  if (backing >= uses_.size()) {
    uses_.resize(backing + 1);
  }
  ++uses_[backing].mappings;
  uses_[backing].mapped_size = program_.slots[slot].mapped_size;
  UpdateStaleness(slot, set);
}

void RemapSession::NoteUnmapped(uint32_t slot, MappedSet& set) {
  const BackingId backing = set.content[slot].backing;
  set.content[slot] = Binding();
  --set.mapped_count;
  BackingUse& use = uses_[backing];
  if (--use.mappings == 0 && use.freed) {
    memory_.retained_now -= use.mapped_size;
  }
  UpdateStaleness(slot, set);
}

}  // namespace remaplab
