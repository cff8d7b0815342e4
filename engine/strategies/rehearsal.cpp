#include "engine/strategies/rehearsal.h"

#include <algorithm>

namespace remaplab {
namespace {

class FixedSlots final : public SlotPolicy {
 public:
  FixedSlots(std::span<const SlotClass> classes, CopyDirection direction) : classes_(classes), direction_(direction) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      std::copy(classes_.begin(), classes_.end(), classes.begin());
    }
    return view.fresh_table;
  }
  bool CopiesIn(const SlotSpec& slot) const override { return NeedsCopyIn(direction_, slot); }
  bool CopiesOut(const SlotSpec& slot) const override { return NeedsCopyOut(direction_, slot); }

 private:
  std::span<const SlotClass> classes_;
  CopyDirection direction_;
};

}  // namespace

void StepHistory::Note(const PlanView& view) {
  if (view.fresh_table) {
    count_ = 0;
  }
  if (count_ == 0) {
    first_.assign(view.bindings.begin(), view.bindings.end());
  } else if (count_ == kSteps) {
    begin_ = (begin_ + 1) % kSteps;
    --count_;
    for (const SlotChange& change : ring_[begin_].changes) {
      first_[change.slot] = change.binding;
    }
  }
  NotedStep& step = ring_[(begin_ + count_++) % kSteps];
  step.gpu_ns = view.gpu_ns;
  step.changes.clear();
  for (const uint32_t slot : view.changed) {
    step.changes.push_back({slot, view.bindings[slot]});
  }
}

std::vector<uint32_t> StepHistory::ChangesBySlot() const {
  std::vector<uint32_t> changes(first_.size(), 0);
  for (size_t i = 1; i < count_; ++i) {
    for (const SlotChange& change : step(i).changes) {
      ++changes[change.slot];
    }
  }
  return changes;
}

Result<Rehearsal> Rehearsal::Make(const StageMaker& stage, const ProgramSpec& program, const StepHistory& history) {
  REMAPLAB_ASSIGN(std::unique_ptr<Backend> backend, stage());
  Rehearsal rehearsal(std::move(backend), program, history);
  for (const Binding& binding : history.first()) {
    REMAPLAB_TRY(rehearsal.CreateMemory(binding));
  }
  for (size_t i = 1; i < history.steps(); ++i) {
    for (const SlotChange& change : history.step(i).changes) {
      REMAPLAB_TRY(rehearsal.CreateMemory(change.binding));
    }
  }
  return rehearsal;
}

Status Rehearsal::CreateMemory(const Binding& binding) {
  if (!binding.empty() && !memory_.contains(binding.backing)) {
    REMAPLAB_ASSIGN(memory_[binding.backing], stage_->Create(binding.memory.size, program_.device, 0, 0));
  }
  return {};
}

SlotChange Rehearsal::OnStage(uint32_t slot, const Binding& binding) const {
  SlotChange change{slot, binding};
  if (!binding.empty()) {
    change.binding.memory = memory_.at(binding.backing);
  }
  return change;
}

Result<Rehearsal::Outcome> Rehearsal::Try(std::span<const SlotClass> classes, CopyDirection direction,
                                          std::unique_ptr<RemapPolicy> remap) {
  RemapSession session(
      *stage_, program_,
      Strategy{.text = {}, .slots = std::make_unique<FixedSlots>(classes, direction), .remap = std::move(remap)});
  ends_.clear();
  const int64_t begin = stage_->now();
  std::vector<SlotChange> changes;
  for (size_t i = 0; i < history_.steps(); ++i) {
    changes.clear();
    if (i == 0) {
      for (uint32_t slot = 0; slot < history_.first().size(); ++slot) {
        changes.push_back(OnStage(slot, history_.first()[slot]));
      }
    }
    for (const SlotChange& change : i == 0 ? std::span<const SlotChange>() : history_.step(i).changes) {
      changes.push_back(OnStage(change.slot, change.binding));
    }
    REMAPLAB_TRY(session.Step({.step = i + 1, .gpu_ns = history_.step(i).gpu_ns, .changes = changes, .unproven = {}}));
  }
  REMAPLAB_TRY(stage_->TakeStepEnds(ends_));
  REMAPLAB_TRY(stage_->Synchronize());
  const int64_t end = stage_->now();
  REMAPLAB_TRY(session.Teardown());
  REMAPLAB_TRY(stage_->Synchronize());
  if (ends_.size() <= kSettling) {
    return Fail(ErrorCode::kInternal, "a rehearsal needs more steps");
  }
  const int64_t counted = ends_.back().end_ns - ends_[kSettling - 1].end_ns;
  return Outcome{.step_ns = counted / static_cast<int64_t>(ends_.size() - kSettling),
                 .set_up_ns = ends_.front().end_ns - begin - history_.step(0).gpu_ns,
                 .take_down_ns = stage_->now() - end};
}

std::vector<uint64_t> ThresholdsOf(const ProgramSpec& program) {
  // A try takes time in proportion to the slots: fewer for the largest programs.
  const size_t most = std::clamp<size_t>(32'000 / std::max<size_t>(program.slots.size(), 1), 6, 32);
  std::vector<uint64_t> sizes;
  for (const SlotSpec& slot : program.slots) {
    sizes.push_back(slot.recorded_size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() > most) {
    std::vector<uint64_t> spread;
    for (size_t i = 1; i <= most; ++i) {
      spread.push_back(sizes[i * sizes.size() / most - 1]);
    }
    return spread;
  }
  return sizes;
}

}  // namespace remaplab
