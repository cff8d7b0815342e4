#include "replay/program_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "replay/replay_parts.h"

namespace remaplab {

Result<std::unique_ptr<ProgramReplay>> ProgramReplay::Create(const Trace& trace, const ProgramSteps& program,
                                                             std::string_view strategy, const ReplayOptions& options,
                                                             RunListener* listener) {
  std::unique_ptr<ProgramReplay> replay(new ProgramReplay(trace, program, options, listener));
  REMAPLAB_TRY(replay->SetUp(strategy));
  return replay;
}

Status ProgramReplay::SetUp(std::string_view strategy_text) {
  const BackendOptions& backend_options = options_.backend_options;
  REMAPLAB_ASSIGN(backend_, MakeBackendFor(program_, options_));
  const Capabilities& capabilities = backend_->capabilities();
  REMAPLAB_ASSIGN(granularity_, ResolveGranularity(trace_, options_, capabilities));

  Backend* top = backend_.get();
  if (!options_.faults.empty()) {
    faults_ = std::make_unique<InjectFaults>(*top, options_.faults, &phase_);
    top = faults_.get();
  }
  instrument_ = std::make_unique<Instrument>(*top, &phase_);
  top = instrument_.get();
  if (options_.verify != VerifyMode::kOff) {
    verify_ = std::make_unique<Verify>(*top, TouchFor(options_.verify));
    top = verify_.get();
  }

  REMAPLAB_ASSIGN(profile_, LoadCostProfile(backend_options.cost_profile, backend_options.what_if));
  ProgramSpec spec = MakeProgramSpec(FirstDeclaration(trace_, program_), options_, granularity_);
  REMAPLAB_ASSIGN(Strategy strategy, MakeStrategy(strategy_text, {.program = spec,
                                                                  .capabilities = capabilities,
                                                                  .driver = backend_->info().driver_profile,
                                                                  .stage = StageFor(program_, options_)}));
  run_.info.strategy = strategy.text;
  session_ = std::make_unique<RemapSession>(*top, std::move(spec), std::move(strategy), &phase_);
  session_->ReserveBackings(trace_.backings());
  memory_ = std::make_unique<BackingMemory>(*top, phase_, trace_.backings());
  if (trace_.end.identity == TraceIdentity::kAddress) {
    slot_of_backing_.assign(trace_.backings(), kNoEngineSlot);
  }
  run_.churn = ChurnMap(program_.steps);
  DescribeRun();
  recorder_ = std::make_unique<StepRecorder>(
      *instrument_, *backend_, listener_,
      StepRecorder::Options{.detail_calls = options_.detail_calls, .collect_ends = !backend_options.sim_process});
  return listener_ != nullptr ? listener_->OnStart(run_.info) : Status();
}

void ProgramReplay::DescribeRun() {
  RunInfo& info = run_.info;
  const BackendInfo& backend = backend_->info();
  const TraceIdentity identity = trace_.end.identity;
  info.trace = {.xxh3 = trace_.xxh3,
                .name = {},
                .source = trace_.header.source,
                .identity = identity == TraceIdentity::kBacking ? "backing" : "address",
                .steps = trace_.steps(),
                .events = trace_.events.size(),
                .lost_events = trace_.end.lost_events,
                .starts_mid_life = trace_.end.starts_mid_life,
                .complete = trace_.end.present,
                .meta_json = trace_.header.meta_json};
  info.program = {.id = program_.id,
                  .module = program_.module,
                  .device = program_.device,
                  .commands = program_.commands,
                  .slots = {}};
  for (const SlotSpec& slot : session_->program().slots) {
    info.program.slots.push_back(
        {slot.index, slot.recorded_size, static_cast<uint32_t>(slot.space), slot.kind, slot.access});
  }
  info.backend = backend.name;
  info.measured = !backend_->capabilities().simulated_time;
  info.driver_profile = backend.driver_profile;
  if (!backend.cost_profile.empty()) {
    info.cost_profile = {.name = profile_.name,
                         .quality = profile_.quality,
                         .version = {},
                         .origin = profile_.origin,
                         .date = profile_.date,
                         .device = profile_.device,
                         .json = CostProfileToJson(profile_)};
  }
  info.devices = options_.backend_options.devices;
  info.granularity = granularity_;
  info.gpu_step_ns = options_.gpu_step_ns;
  info.host_step_ns = options_.backend_options.host_step_ns;
  info.run_ahead = options_.backend_options.run_ahead;
  info.seed = options_.backend_options.seed;
  info.scale = options_.scale.denominator == 1
                   ? fmt::format("{}", options_.scale.numerator)
                   : fmt::format("{}/{}", options_.scale.numerator, options_.scale.denominator);
  info.slot_filter = options_.command_buffer_slots_only ? "command-buffer" : "all";
  info.warmup_steps = options_.warmup;
  info.device = backend.identity;
}

Status ProgramReplay::Handle(const ProgramEvent& event) {
  switch (event.type) {
    case ProgramEvent::Type::kDeclare:
      Declare(event.ref);
      break;
    case ProgramEvent::Type::kFree:
      memory_->Free(event.ref, ordinal_);
      session_->BackingFreed(event.ref);
      break;
    case ProgramEvent::Type::kReissue:
      if (!slot_of_backing_.empty() && slot_of_backing_[event.ref] != kNoEngineSlot) {
        reissued_.push_back(event.ref);
      }
      break;
    case ProgramEvent::Type::kStep:
      interrupted_ = options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
      return interrupted_ ? Status() : ReplayStep(event.ref);
  }
  return {};
}

void ProgramReplay::Declare(uint32_t declaration) {
  ProgramSpec spec = MakeProgramSpec(trace_.programs[declaration], options_, granularity_);
  engine_slot_ = EngineSlots(trace_.programs[declaration], spec);
  pending_backing_.assign(spec.slots.size(), kNotPending);
  pending_slots_.clear();
  if (std::exchange(declared_, true)) {
    session_->Redeclare(std::move(spec));
  }
}

Status ProgramReplay::CollectEnds() { return recorder_->CollectEnds(); }

ProgramRun ProgramReplay::Finish() {
  TearDown();
  Summarize();
  return std::move(run_);
}

void ProgramReplay::CollectChanges(uint32_t step) {
  const std::span<const uint32_t> slots = trace_.BoundSlots(step);
  const std::span<const uint32_t> backings = trace_.BoundBackings(step);
  for (size_t i = 0; i < slots.size(); ++i) {
    const uint32_t slot = engine_slot_[slots[i]];
    if (slot == kNoEngineSlot) {
      continue;
    }
    if (pending_backing_[slot] == kNotPending) {
      pending_slots_.push_back(slot);
    }
    pending_backing_[slot] = backings[i];
  }
}

// Gives every pending binding its memory. On failure what is pending stays so, for the next step.
Status ProgramReplay::BindMemory() {
  changes_.clear();
  const std::vector<SlotSpec>& slots = session_->upcoming_program().slots;
  for (const uint32_t slot : pending_slots_) {
    const uint32_t backing = pending_backing_[slot];
    SlotChange change{slot, Binding()};
    if (backing != kUnboundSlot) {
      const SlotSpec& spec = slots[slot];
      const uint64_t address = trace_.backing_address[backing];
      change.binding.backing = backing;
      change.binding.trace_address = address == kUnknownAddress ? kNullAddress : address;
      REMAPLAB_ASSIGN(change.binding.memory, memory_->Get(backing, spec.mapped_size, program_.device, spec.space));
    }
    changes_.push_back(change);
  }
  for (const SlotChange& change : changes_) {
    pending_backing_[change.slot] = kNotPending;
    if (!slot_of_backing_.empty() && !change.binding.empty()) {
      slot_of_backing_[change.binding.backing] = change.slot;
    }
  }
  pending_slots_.clear();
  return {};
}

void ProgramReplay::CollectUnproven() {
  unproven_.clear();
  for (const uint32_t backing : reissued_) {
    const uint32_t slot = slot_of_backing_[backing];
    const std::span<const Binding> bindings = session_->bindings();
    if (slot < bindings.size() && bindings[slot].backing == backing &&
        std::none_of(changes_.begin(), changes_.end(), [&](const SlotChange& change) { return change.slot == slot; })) {
      unproven_.push_back(slot);
    }
  }
  std::sort(unproven_.begin(), unproven_.end());
  unproven_.erase(std::unique(unproven_.begin(), unproven_.end()), unproven_.end());
  reissued_.clear();
}

Status ProgramReplay::ReplayStep(uint32_t step) {
  CollectChanges(step);
  const uint64_t number = trace_.step_number[step];
  if (Status bound = BindMemory(); !bound) {
    if (bound.error().code() == ErrorCode::kInput) {
      return Fail(std::move(bound).error().WithContext(fmt::format("step {}", number)));
    }
    ++allocation_failures_;
    return HandleFailure(std::move(bound).error(), std::nullopt, CallKind::kCreate);
  }
  CollectUnproven();
  const int64_t gpu_ns = GpuTimeOf(trace_, program_, step, options_);
  const SessionCounters before = session_->counters();
  ++ordinal_;
  recorder_->BeginStep(ordinal_);
  Status stepped = session_->Step({.step = number, .gpu_ns = gpu_ns, .changes = changes_, .unproven = unproven_});
  const SessionCounters& after = session_->counters();
  const uint64_t changed = after.changed_slot_steps - before.changed_slot_steps;
  if (changed > 0) {
    for (const uint32_t slot : session_->changed()) {
      run_.churn.Add(ordinal_, slot);
    }
  }
  REMAPLAB_TRY(
      recorder_->EndStep({.changed_slots = static_cast<uint32_t>(changed),
                          .retained_bytes = session_->memory().retained_now,
                          .stale_slots = static_cast<uint32_t>(after.stale_slot_steps - before.stale_slot_steps),
                          .failed = !stepped}));
  if (!stepped) {
    const std::optional<StepFailure>& failure = session_->last_failure();
    run_.poisoned = session_->poisoned();
    return HandleFailure(std::move(stepped).error(), failure ? failure->slot_index : std::nullopt,
                         failure ? failure->call : CallKind::kLaunch);
  }
  // The device has finished all but the last run_ahead + 1 steps.
  const uint64_t in_flight = options_.backend_options.run_ahead + 1;
  if (ordinal_ > in_flight) {
    if (Status released = memory_->ReleaseUntil(ordinal_ - in_flight); !released) {
      return HandleFailure(std::move(released).error(), std::nullopt, CallKind::kRelease);
    }
  }
  return {};
}

Status ProgramReplay::HandleFailure(Error error, std::optional<uint32_t> slot, CallKind kind) {
  if (run_.faults.size() < ProgramRun::kMaxDetails) {
    run_.faults.push_back({.step = ordinal_ + (kind == CallKind::kCreate ? 1 : 0),  // before the step it is for
                           .phase = run_.poisoned ? RunPhase::kCleanup : RunPhase::kSteps,
                           .kind = kind,
                           .slot = slot,
                           .code = std::string(ErrorCodeName(error.code())),
                           .message = error.message()});
  }
  return {};
}

void ProgramReplay::TearDown() {
  const auto note = [this](std::string_view what, const Status& status) {
    if (!status) {
      run_.poisoned = true;
      Note(Severity::kError, fmt::format("{}: {}", what, status.error().message()));
    }
  };
  recorder_->BeginTeardown();
  if (verify_) {
    note("verification", verify_->Finish());
  }
  note("teardown", session_->Teardown());
  note("giving memory back", memory_->ReleaseAll());
  note("waiting for the device", backend_->Synchronize());
  if (const Outstanding left = backend_->outstanding(); !left.empty()) {
    run_.poisoned = true;
    Note(Severity::kError,
         fmt::format("still held after teardown: {} reservations, {} handles, {} mappings, {} shadows, {} events, {} "
                     "command buffers",
                     left.reservations, left.handles, left.mappings, left.shadows, left.events, left.command_buffers));
  }
}

void ProgramReplay::NoteUnsureTerms() {
  if (backend_->info().cost_profile.empty()) {
    return;
  }
  std::array<bool, kCallKindCount> used{};
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    used[kind] = run_.summary.calls[kind].n + run_.summary.teardown[kind].n + run_.summary.cleanup[kind].n > 0;
  }
  for (const std::string& term : UnmeasuredTerms(profile_, used, options_.backend_options.devices)) {
    run_.summary.unsure_terms += fmt::format("{}{}", run_.summary.unsure_terms.empty() ? "" : ", ", term);
  }
}

void ProgramReplay::Summarize() {
  RunSummary& summary = run_.summary;
  const SessionCounters& counters = session_->counters();
  const SessionMemory& memory = session_->memory();
  summary.learned_at = session_->strategy().slots->LearnedAt();
  if (Status finished = recorder_->Finish(options_.warmup, summary); !finished) {
    Note(Severity::kError, finished.error().message());
    run_.poisoned = true;
  }
  summary.resolved = session_->strategy().slots->Resolved();
  summary.steps = counters.steps + allocation_failures_;
  summary.failed_steps = counters.failed_steps + allocation_failures_;
  summary.slots = session_->program().slots.size();
  summary.bytes_mapped = memory.bytes_mapped;
  summary.changed_slot_steps = counters.changed_slot_steps;
  summary.peak_reserved = memory.peak_reserved;
  summary.shadow_bytes = memory.shadow_bytes;
  summary.retained_bytes = memory.retained_bytes;
  summary.command_buffers = memory.command_buffers;
  summary.stale_mappings = counters.stale_slot_steps;
  summary.stale_steps = counters.stale_steps;
  summary.skips_on_assumption = counters.assumed_skips;
  summary.gpu_step_ns = options_.gpu_step_ns.value_or(program_.gpu_step_ns);
  if (verify_) {
    summary.verification_failures = verify_->mismatch_count();
    for (const Mismatch& mismatch : verify_->mismatches()) {
      const std::vector<SlotSpec>& slots = session_->program().slots;
      const uint32_t index = mismatch.slot < slots.size() ? slots[mismatch.slot].index : mismatch.slot;
      run_.mismatches.push_back({mismatch.step, index, mismatch.expected, mismatch.got});
    }
  }
  NoteUnsureTerms();
  summary.status = interrupted_ ? RunStatus::kInterrupted : run_.poisoned ? RunStatus::kFailed : RunStatus::kFinished;
}

}  // namespace remaplab
