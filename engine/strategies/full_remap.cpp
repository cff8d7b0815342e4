// full_remap: before each step, unmap the whole range and map every slot again. The original scheme: always right, no
// state to keep. It wins only where every slot moves on every step; elsewhere it pays for all slots what few have
// earned.
#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class FullRemap final : public RemapPolicy {
 public:
  std::unique_ptr<RemapPolicy> Fresh() const override { return std::make_unique<FullRemap>(); }
  void PlanRemap(const PlanView& view, uint32_t set, StepPlan& plan) override {
    PlanWait(set, plan);
    PlanUnmapAll(view, set, plan);
    PlanMapAll(view, set, plan);
  }
};

Status Make(const Parameters&, const StrategyContext&, Strategy& strategy) {
  strategy.slots = MakeUniformSlots(SlotClass::kMapped);
  strategy.remap = std::make_unique<FullRemap>();
  return {};
}

}  // namespace

const StrategyEntry kFullRemap = {
    {"full_remap", "unmap the whole range and map every slot again before each step", {}}, Make, nullptr, ""};

}  // namespace remaplab
