// cached_sets: keep up to k reservations mapped, each with its own command buffer, and launch the one that matches this
// step's memory; when none does, make a new one, or remap the least recently used. It wins where the allocator cycles
// through few patterns (inputs in rotation); it pays k times the address space, and holds on to memory of old patterns.
#include <algorithm>
#include <array>

#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class CachedSets final : public RemapPolicy {
 public:
  CachedSets(uint32_t sets, AccessGrain grain) : sets_(sets), grain_(grain) {}

  uint32_t PickSet(const PlanView& view) override {
    uint32_t empty = static_cast<uint32_t>(view.sets.size());
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < view.sets.size(); ++i) {
      const MappedSet& set = view.sets[i];
      if (set.mapped && set.stale_mapped.empty()) {
        return i;
      }
      if (!set.mapped) {
        empty = std::min(empty, i);
      }
      if (set.last_used < view.sets[oldest].last_used) {
        oldest = i;
      }
    }
    return empty < sets_ ? empty : oldest;
  }
  std::unique_ptr<RemapPolicy> Fresh() const override { return std::make_unique<CachedSets>(sets_, grain_); }
  void PlanRemap(const PlanView& view, uint32_t set, StepPlan& plan) override {
    PlanRemapChanged(view, set, grain_, plan);
  }

 private:
  uint32_t sets_;
  AccessGrain grain_;
};

Status Make(const Parameters& parameters, const StrategyContext& context, Strategy& strategy) {
  REMAPLAB_ASSIGN(const uint64_t sets, parameters.Count("k", 1, 255));
  REMAPLAB_ASSIGN(const AccessGrain grain, ReadAccessGrain(parameters, context));
  strategy.slots = MakeUniformSlots(SlotClass::kMapped);
  strategy.remap = std::make_unique<CachedSets>(static_cast<uint32_t>(sets), grain);
  return {};
}

constexpr std::array<ParameterInfo, 2> kParameters = {{
    {"k", "N", "2", "how many reservations with their command buffers are kept"},
    {"access", "range|run|slot", "range", "what set access covers after a remap"},
}};

}  // namespace

const StrategyEntry kCachedSets = {
    {"cached_sets", "keep k mapped reservations and launch the one that matches", kParameters}, Make, nullptr, ""};

}  // namespace remaplab
