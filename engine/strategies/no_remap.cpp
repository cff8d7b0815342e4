// no_remap: bake every buffer's own address into the command buffer and update the command buffer when addresses
// change. XLA's ALWAYS_UPDATE, today's default: no driver mapping calls and no waits. It wins where updates are cheap
// or mapping calls dear; it loses where many addresses change in a large command buffer.
#include "engine/strategies/entries.h"

namespace remaplab {
namespace {

Status Make(const Parameters&, const StrategyContext&, Strategy& strategy) {
  strategy.slots = MakeUniformSlots(SlotClass::kDynamic);
  strategy.remap = MakeSkipRemap(Identity::kBacking, AccessGrain::kRange);  // with nothing mapped it does nothing
  return {};
}

}  // namespace

const StrategyEntry kNoRemap = {
    {"no_remap", "never remap; update the command buffer when addresses changed", {}}, Make, nullptr, ""};

}  // namespace remaplab
