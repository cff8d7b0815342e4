// copy_shadow(threshold=auto): watch the first steps without shadows, then play them through with each threshold that
// makes a difference and keep the cheapest. That change of classes costs one wait and one capture; afterwards the
// threshold stays. It wins over a guess wherever costs or sizes are not those that the guess was made for.
#include <fmt/format.h>

#include <utility>

#include "engine/strategies/rehearsal.h"

namespace remaplab {
namespace {

class AutoThreshold final : public SlotPolicy {
 public:
  AutoThreshold(std::unique_ptr<SlotPolicy> rest, const RemapPolicy& remap, CopyDirection direction, StageMaker stage)
      : rest_(std::move(rest)), remap_(remap), direction_(direction), stage_(std::move(stage)) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      rest_classes_.assign(classes.begin(), classes.end());
      threshold_ = 0;
      decided_ = false;
      resolved_ = "nothing is shadowed yet: still watching the first steps";
    }
    const bool rest_changed = rest_->Classify(view, rest_classes_);
    history_.Note(view);
    decided_ = decided_ && !rest_changed;
    const bool learned =
        !decided_ && history_.steps() == StepHistory::kSteps && rest_->UsesCommandBuffer(view.ordinal) && Decide(view);
    if (!rest_changed && !learned) {
      return false;
    }
    std::copy(rest_classes_.begin(), rest_classes_.end(), classes.begin());
    ShadowUpTo(threshold_, view.program, classes);
    return true;
  }
  bool UsesCommandBuffer(uint64_t ordinal) const override { return rest_->UsesCommandBuffer(ordinal); }
  bool CopiesIn(const SlotSpec& slot) const override { return NeedsCopyIn(direction_, slot); }
  bool CopiesOut(const SlotSpec& slot) const override { return NeedsCopyOut(direction_, slot); }
  std::string Resolved() const override {
    const std::string rest = rest_->Resolved();
    return rest.empty() ? resolved_ : fmt::format("{}; {}", rest, resolved_);
  }
  uint64_t LearnedAt() const override { return learned_at_; }

 private:
  // Says whether the threshold changed.
  bool Decide(const PlanView& view) {
    decided_ = true;
    const uint64_t before = threshold_;
    if (Status tried = TryThresholds(view.program); !tried) {
      resolved_ = fmt::format("threshold={}: trying others failed: {}", threshold_, tried.error().message());
      return false;
    }
    learned_at_ = view.ordinal;
    return threshold_ != before;
  }

  Status TryThresholds(const ProgramSpec& program) {
    REMAPLAB_ASSIGN(Rehearsal rehearsal, Rehearsal::Make(stage_, program, history_));
    int64_t without = 0;
    int64_t best = 0;
    std::vector<SlotClass> classes;
    std::vector<uint64_t> thresholds = ThresholdsOf(program);
    thresholds.insert(thresholds.begin(), 0);
    for (const uint64_t threshold : thresholds) {
      classes = rest_classes_;
      ShadowUpTo(threshold, program, classes);
      REMAPLAB_ASSIGN(const Rehearsal::Outcome outcome, rehearsal.Try(classes, direction_, remap_.Fresh()));
      without = threshold == 0 ? outcome.step_ns : without;
      if (threshold == 0 || outcome.step_ns < best) {
        best = outcome.step_ns;
        threshold_ = threshold;
      }
    }
    resolved_ = fmt::format("threshold={}: {} ns a step, the least of {} thresholds tried; {} ns without shadows",
                            threshold_, best, thresholds.size(), without);
    return {};
  }

  std::unique_ptr<SlotPolicy> rest_;
  const RemapPolicy& remap_;
  CopyDirection direction_;
  StageMaker stage_;

  std::vector<SlotClass> rest_classes_;
  StepHistory history_;
  uint64_t threshold_ = 0;
  bool decided_ = false;
  uint64_t learned_at_ = 0;
  std::string resolved_;
};

}  // namespace

std::unique_ptr<SlotPolicy> MakeAutoThreshold(std::unique_ptr<SlotPolicy> rest, const RemapPolicy& remap,
                                              CopyDirection direction, StageMaker stage) {
  return std::make_unique<AutoThreshold>(std::move(rest), remap, direction, std::move(stage));
}

}  // namespace remaplab
