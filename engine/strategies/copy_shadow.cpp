// copy_shadow: small slots get a stable stand-in outside the reservation, refreshed by a copy before the launch and
// written back by one after it, so that they never need a remap. It wins where tiny buffers move on every step and a
// driver round trip costs more than two copies; it loses where they hardly ever move, since the copies come every step.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

// Shadows what is at most `threshold` bytes and leaves the rest to another policy.
class ShadowSmall final : public SlotPolicy {
 public:
  ShadowSmall(std::unique_ptr<SlotPolicy> rest, uint64_t threshold, CopyDirection direction)
      : rest_(std::move(rest)), threshold_(threshold), direction_(direction) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    const bool changed = rest_->Classify(view, classes);
    if (changed) {
      ShadowUpTo(threshold_, view.program, classes);
    }
    return changed;
  }
  bool UsesCommandBuffer(uint64_t ordinal) const override { return rest_->UsesCommandBuffer(ordinal); }
  bool CopiesIn(const SlotSpec& slot) const override { return NeedsCopyIn(direction_, slot); }
  bool CopiesOut(const SlotSpec& slot) const override { return NeedsCopyOut(direction_, slot); }
  std::string Resolved() const override { return rest_->Resolved(); }

 private:
  std::unique_ptr<SlotPolicy> rest_;
  uint64_t threshold_;
  CopyDirection direction_;
};

// Semantics, rule 9: inclusive, 0 disables, negative means 0, and text that is no number is refused.
Result<uint64_t> ReadThreshold(std::string_view text) {
  if (text.starts_with('-')) {
    REMAPLAB_TRY(ParseInt(text, "copy_shadow: threshold"));
    return 0;
  }
  return ParseBytes(text, "copy_shadow: threshold");
}

Status Modify(const Parameters& parameters, const StrategyContext& context, Strategy& strategy) {
  REMAPLAB_ASSIGN(const size_t choice, parameters.OneOf("direction", {"both", "by_access"}));
  const CopyDirection direction = static_cast<CopyDirection>(choice);
  if (parameters.Text("threshold") == "auto") {
    if (!context.stage) {
      return Fail(ErrorCode::kUsage, "copy_shadow: threshold=auto decides by cost, and no cost profile is given");
    }
    strategy.slots = MakeAutoThreshold(std::move(strategy.slots), *strategy.remap, direction, context.stage);
    return {};
  }
  REMAPLAB_ASSIGN(const uint64_t threshold, ReadThreshold(parameters.Text("threshold")));
  if (threshold > 0) {
    strategy.slots = std::make_unique<ShadowSmall>(std::move(strategy.slots), threshold, direction);
  }
  return {};
}

// On its own it stands on full_remap (definitions.md section 2).
Status Make(const Parameters& parameters, const StrategyContext& context, Strategy& strategy) {
  static const StrategyTerm kNoParameters;
  REMAPLAB_TRY(kFullRemap.make(Parameters(kNoParameters, kFullRemap.info), context, strategy));
  return Modify(parameters, context, strategy);
}

constexpr std::array<ParameterInfo, 2> kParameters = {{
    {"threshold", "BYTES|auto", "0", "slots of at most this size are shadowed; 0 is off, auto is found out"},
    {"direction", "both|by_access", "both",
     "copy both ways, or only the way in which the command buffer uses the slot"},
}};

}  // namespace

void ShadowUpTo(uint64_t threshold, const ProgramSpec& program, std::span<SlotClass> classes) {
  for (size_t slot = 0; slot < classes.size(); ++slot) {
    if (program.slots[slot].recorded_size <= threshold) {
      classes[slot] = SlotClass::kShadowed;
    }
  }
}

const StrategyEntry kCopyShadow = {
    {"copy_shadow", "let small slots live in stable shadows, refreshed by copies around each launch", kParameters},
    Make,
    Modify,
    ""};

}  // namespace remaplab
