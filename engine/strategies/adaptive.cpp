// adaptive: starts as skip_remap, counts which slots move, and plays the last steps through with other classes: all
// mapped, movers shadowed up to a size, movers dynamic, all dynamic. It takes the cheapest, and looks again after twice
// as many steps, for a run that has changed its ways. Each change costs a wait, a capture and what it maps or frees. It
// wins where nobody knows beforehand what the buffers will do; it loses what it pays for learning, and against a
// pattern that changes faster than it looks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/strategies/rehearsal.h"

namespace remaplab {
namespace {

constexpr CopyDirection kDirection = CopyDirection::kByAccess;

class Adaptive final : public SlotPolicy {
 public:
  explicit Adaptive(StageMaker stage) : stage_(std::move(stage)) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      std::fill(classes.begin(), classes.end(), SlotClass::kMapped);
      steps_ = 0;
      next_look_ = StepHistory::kSteps;
      resolved_ = "all slots mapped: still watching the first steps";
    }
    history_.Note(view);
    const bool learned = ++steps_ == next_look_ && Look(view, classes);
    return view.fresh_table || learned;
  }
  bool CopiesIn(const SlotSpec& slot) const override { return NeedsCopyIn(kDirection, slot); }
  bool CopiesOut(const SlotSpec& slot) const override { return NeedsCopyOut(kDirection, slot); }
  std::string Resolved() const override { return resolved_; }
  uint64_t LearnedAt() const override { return learned_at_; }

 private:
  // Which classes the slots get: quiet ones one class, those that move one of two by size.
  struct Candidate {
    SlotClass quiet;
    SlotClass mover;
    SlotClass small_mover;
    uint64_t threshold;  // up to which a slot is small
    bool small_quiet_too;
    bool temp_mapped;
  };

  // Says whether any class changed.
  bool Look(const PlanView& view, std::span<SlotClass> classes) {
    next_look_ *= 2;
    Result<bool> tried = TryCandidates(view.program, classes);
    if (!tried) {
      resolved_ = fmt::format("trying other classes failed: {}", tried.error().message());
      return false;
    }
    learned_at_ = *tried || learned_at_ == 0 ? view.ordinal : learned_at_;
    Describe(view.ordinal, classes);
    return *tried;
  }

  // Ordered by what is least risky when the future is not like the past: of equal ones the first wins.
  static std::vector<Candidate> Candidates(const ProgramSpec& program) {
    using enum SlotClass;
    std::vector<Candidate> candidates = {{kDynamic, kDynamic, kDynamic, 0, false, false},
                                         {kMapped, kMapped, kMapped, 0, false, false},
                                         {kDynamic, kDynamic, kDynamic, 0, false, true},
                                         {kMapped, kDynamic, kDynamic, 0, false, false}};
    for (const uint64_t threshold : ThresholdsOf(program)) {
      candidates.push_back({kMapped, kMapped, kShadowed, threshold, false, false});
      candidates.push_back({kMapped, kMapped, kShadowed, threshold, true, false});
      candidates.push_back({kDynamic, kDynamic, kShadowed, threshold, false, false});
      candidates.push_back({kMapped, kDynamic, kShadowed, threshold, false, false});
    }
    return candidates;
  }

  static void Apply(const Candidate& candidate, const ProgramSpec& program, std::span<const uint32_t> changes,
                    std::span<SlotClass> classes) {
    for (size_t slot = 0; slot < classes.size(); ++slot) {
      const SlotSpec& spec = program.slots[slot];
      const bool mover = changes[slot] > 0;
      const bool small = spec.recorded_size <= candidate.threshold;
      classes[slot] = mover ? candidate.mover : candidate.quiet;
      if (small && (mover || candidate.small_quiet_too)) {
        classes[slot] = candidate.small_mover;
      }
      if (candidate.temp_mapped && spec.kind == SlotKind::kTemp) {
        classes[slot] = SlotClass::kMapped;
      }
    }
  }

  // A training run is long: a change may take so many steps, or as many as have been seen, to pay for itself.
  static constexpr uint64_t kHorizon = 10'000;

  Result<bool> TryCandidates(const ProgramSpec& program, std::span<SlotClass> classes) {
    const std::vector<uint32_t> changes = history_.ChangesBySlot();
    const std::unique_ptr<RemapPolicy> remap = MakeSkipRemap(Identity::kBacking, AccessGrain::kRange);
    const int64_t horizon = static_cast<int64_t>(std::max(kHorizon, steps_));
    REMAPLAB_ASSIGN(Rehearsal rehearsal, Rehearsal::Make(stage_, program, history_));
    REMAPLAB_ASSIGN(const Rehearsal::Outcome stay, rehearsal.Try(classes, kDirection, remap->Fresh()));
    stay_ns_ = stay.step_ns;
    step_ns_ = stay.step_ns;
    int64_t best = stay.step_ns * horizon;
    std::vector<SlotClass> trial(classes.size());
    std::vector<SlotClass> best_classes;
    for (const Candidate& candidate : Candidates(program)) {
      Apply(candidate, program, changes, trial);
      REMAPLAB_ASSIGN(const Rehearsal::Outcome outcome, rehearsal.Try(trial, kDirection, remap->Fresh()));
      const int64_t cost = outcome.step_ns * horizon + outcome.set_up_ns + stay.take_down_ns;
      if (cost < best) {
        best = cost;
        best_classes = trial;
        step_ns_ = outcome.step_ns;
      }
    }
    std::copy(best_classes.begin(), best_classes.end(), classes.begin());
    return !best_classes.empty();
  }

  void Describe(uint64_t ordinal, std::span<const SlotClass> classes) {
    const auto count = [&](SlotClass wanted) { return std::count(classes.begin(), classes.end(), wanted); };
    resolved_ = fmt::format("{} mapped, {} shadowed, {} dynamic since step {}; at step {}: {} ns a step, {} before",
                            count(SlotClass::kMapped), count(SlotClass::kShadowed), count(SlotClass::kDynamic),
                            learned_at_, ordinal, step_ns_, stay_ns_);
  }

  StageMaker stage_;
  StepHistory history_;
  uint64_t steps_ = 0;  // with this slot table
  uint64_t next_look_ = StepHistory::kSteps;
  int64_t stay_ns_ = 0;  // a step with the classes before the last look
  int64_t step_ns_ = 0;  // and after it
  uint64_t learned_at_ = 0;
  std::string resolved_;
};

Status Make(const Parameters&, const StrategyContext& context, Strategy& strategy) {
  if (!context.stage) {
    return Fail(ErrorCode::kUsage, "adaptive decides by cost, and no cost profile is given");
  }
  strategy.slots = std::make_unique<Adaptive>(context.stage);
  strategy.remap = MakeSkipRemap(Identity::kBacking, AccessGrain::kRange);
  return {};
}

}  // namespace

const StrategyEntry kAdaptive = {
    {"adaptive", "find out by trying which slots to map, shadow or leave to updates; look again now and then", {}},
    Make,
    nullptr,
    "adaptive decides by itself which slots are shadowed"};

}  // namespace remaplab
