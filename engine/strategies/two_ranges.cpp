// two_ranges: two reservations with a command buffer each, used in turn, so that the wait is for the step before last
// and the remap hides behind the GPU (XLA 0.10). It wins where remaps are shorter than a step; it pays with twice the
// address space, a second command buffer, and with slots that moved once being remapped twice.
#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class TwoRanges final : public RemapPolicy {
 public:
  explicit TwoRanges(AccessGrain grain) : grain_(grain) {}

  uint32_t PickSet(const PlanView& view) override { return view.ordinal % 2 == 1 ? 0 : 1; }
  std::unique_ptr<RemapPolicy> Fresh() const override { return std::make_unique<TwoRanges>(grain_); }
  void PlanRemap(const PlanView& view, uint32_t set, StepPlan& plan) override {
    PlanRemapChanged(view, set, grain_, plan);
  }

 private:
  AccessGrain grain_;
};

Status Make(const Parameters& parameters, const StrategyContext& context, Strategy& strategy) {
  REMAPLAB_ASSIGN(const AccessGrain grain, ReadAccessGrain(parameters, context));
  strategy.slots = MakeUniformSlots(SlotClass::kMapped);
  strategy.remap = std::make_unique<TwoRanges>(grain);
  return {};
}

constexpr std::array<ParameterInfo, 1> kParameters = {
    {{"access", "range|run|slot", "range", "what set access covers after a remap"}}};

}  // namespace

const StrategyEntry kTwoRanges = {
    {"two_ranges", "two reservations in turn, so that a remap overlaps the previous step", kParameters},
    Make,
    nullptr,
    ""};

}  // namespace remaplab
