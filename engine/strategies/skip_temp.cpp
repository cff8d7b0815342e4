// skip_temp: map only the temp slot with skip_remap and leave the rest to command-buffer updates (XLA's SKIP_TEMP). The
// temp is the one large buffer that every step frees and gets back; it wins where that buffer moves and the rest is
// donated. In a trace that does not know which slot is temp it is no_remap.
#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

class TempMapped final : public SlotPolicy {
 public:
  bool Classify(const PlanView& view, std::span<SlotClass> classes) override {
    if (view.fresh_table) {
      temps_ = 0;
      for (size_t slot = 0; slot < classes.size(); ++slot) {
        const bool temp = view.program.slots[slot].kind == SlotKind::kTemp;
        classes[slot] = temp ? SlotClass::kMapped : SlotClass::kDynamic;
        temps_ += temp ? 1 : 0;
      }
    }
    return view.fresh_table;
  }
  std::string Resolved() const override {
    return temps_ == 0 ? "no slot is known to be temp, so nothing is mapped" : std::string();
  }

 private:
  size_t temps_ = 0;
};

Status Make(const Parameters&, const StrategyContext&, Strategy& strategy) {
  strategy.slots = std::make_unique<TempMapped>();
  strategy.remap = MakeSkipRemap(Identity::kBacking, AccessGrain::kRange);
  return {};
}

}  // namespace

const StrategyEntry kSkipTemp = {
    {"skip_temp", "remap only the temp slot; update the command buffer for the rest", {}}, Make, nullptr, ""};

}  // namespace remaplab
