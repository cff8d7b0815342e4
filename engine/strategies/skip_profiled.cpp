// skip_profiled: run the first steps without a command buffer and watch; then map the slots that kept their memory,
// once and for all, and leave those that moved to command-buffer updates (XLA's SKIP_PROFILED). It wins where slots are
// either stable or not; a slot that was quiet while it was watched and moves later costs a remap.
#include <fmt/format.h>

#include <array>

#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class Profiled final : public SlotPolicy {
 public:
  explicit Profiled(uint64_t steps) : steps_(steps) {}

  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      first_ = view.ordinal;
      moved_.assign(classes.size(), 0);
      std::fill(classes.begin(), classes.end(), SlotClass::kDynamic);
      resolved_.clear();
      return true;
    }
    if (view.ordinal < first_ + steps_) {
      for (const uint32_t slot : view.changed) {
        moved_[slot] = 1;
      }
      return false;
    }
    if (!resolved_.empty()) {
      return false;
    }
    size_t stable = 0;
    for (size_t slot = 0; slot < classes.size(); ++slot) {
      classes[slot] = moved_[slot] != 0 ? SlotClass::kDynamic : SlotClass::kMapped;
      stable += moved_[slot] != 0 ? 0 : 1;
    }
    resolved_ =
        fmt::format("{} of {} slots kept their memory for {} steps and are mapped", stable, classes.size(), steps_);
    return true;
  }
  bool UsesCommandBuffer(uint64_t ordinal) const override { return ordinal >= first_ + steps_; }
  std::string Resolved() const override { return resolved_; }

 private:
  uint64_t steps_;
  uint64_t first_ = 1;
  std::vector<uint8_t> moved_;
  std::string resolved_;
};

Status Make(const Parameters& parameters, const StrategyContext&, Strategy& strategy) {
  REMAPLAB_ASSIGN(const uint64_t steps, parameters.Count("steps", 1, 1'000'000));
  strategy.slots = std::make_unique<Profiled>(steps);
  strategy.remap = MakeSkipRemap(Identity::kBacking, AccessGrain::kRange);
  return {};
}

constexpr std::array<ParameterInfo, 1> kParameters = {
    {{"steps", "N", "3", "how many steps to watch without a command buffer"}}};

}  // namespace

const StrategyEntry kSkipProfiled = {
    {"skip_profiled", "watch the first steps, map the slots that kept their memory, update the rest", kParameters},
    Make,
    nullptr,
    ""};

}  // namespace remaplab
