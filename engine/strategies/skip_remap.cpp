// skip_remap: remap only the slots whose memory changed, and nothing at all when none did. It wins whenever most slots
// keep their memory, as donated weights do; it loses its lead when every slot moves, and its set access still covers
// the whole range unless the driver takes parts of it. identity=address is the pull request's test: it believes that a
// re-issued address is the same memory, and leaves stale mappings where that is wrong.
#include <array>

#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class SkipRemap final : public RemapPolicy {
 public:
  SkipRemap(Identity identity, AccessGrain grain) : identity_(identity), grain_(grain) {}

  Identity identity() const override { return identity_; }
  std::unique_ptr<RemapPolicy> Fresh() const override { return std::make_unique<SkipRemap>(identity_, grain_); }
  void PlanRemap(const PlanView& view, uint32_t set, StepPlan& plan) override {
    PlanRemapChanged(view, set, grain_, plan);
  }

 private:
  Identity identity_;
  AccessGrain grain_;
};

Status Make(const Parameters& parameters, const StrategyContext& context, Strategy& strategy) {
  REMAPLAB_ASSIGN(const size_t identity, parameters.OneOf("identity", {"backing", "address"}));
  REMAPLAB_ASSIGN(const AccessGrain grain, ReadAccessGrain(parameters, context));
  strategy.slots = MakeUniformSlots(SlotClass::kMapped);
  strategy.remap = MakeSkipRemap(static_cast<Identity>(identity), grain);
  return {};
}

constexpr std::array<ParameterInfo, 2> kParameters = {{
    {"identity", "backing|address", "backing",
     "what makes a slot unchanged: the same memory, or just the same address"},
    {"access", "range|run|slot", "range", "what set access covers after a remap"},
}};

}  // namespace

std::unique_ptr<RemapPolicy> MakeSkipRemap(Identity identity, AccessGrain grain) {
  return std::make_unique<SkipRemap>(identity, grain);
}

const StrategyEntry kSkipRemap = {
    {"skip_remap", "remap only the slots whose memory changed since the last step", kParameters}, Make, nullptr, ""};

}  // namespace remaplab
