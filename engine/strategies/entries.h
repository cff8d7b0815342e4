// How a strategy's file registers it: it defines one StrategyEntry, and engine/strategy_registry.cpp names it in its
// table. Nothing else changes when a strategy is added.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "engine/strategy.h"
#include "engine/strategy_text.h"

namespace remaplab {

// A term's parameters with their defaults filled in; values are checked when they are read. Errors are kUsage and name
// strategy, parameter and what is allowed.
class Parameters {
 public:
  Parameters(const StrategyTerm& term, const StrategyInfo& info) : term_(term), info_(info) {}

  std::string_view Text(std::string_view name) const;
  // The position of the value in `allowed`.
  Result<size_t> OneOf(std::string_view name, std::initializer_list<std::string_view> allowed) const;
  Result<uint64_t> Count(std::string_view name, uint64_t minimum, uint64_t maximum) const;

 private:
  const StrategyTerm& term_;
  const StrategyInfo& info_;
};

struct StrategyEntry {
  StrategyInfo info;
  // A strategy on its own: fills `strategy`.
  Status (*make)(const Parameters& parameters, const StrategyContext& context, Strategy& strategy);
  // Changes a strategy that stands before it in the text; null when it cannot.
  Status (*modify)(const Parameters& parameters, const StrategyContext& context, Strategy& strategy);
  // Why it cannot be modified by another term; empty when it can.
  std::string_view unmodifiable;
};

extern const StrategyEntry kFullRemap;
extern const StrategyEntry kSkipRemap;
extern const StrategyEntry kCopyShadow;
extern const StrategyEntry kNoRemap;
extern const StrategyEntry kSkipTemp;
extern const StrategyEntry kSkipProfiled;
extern const StrategyEntry kCachedSets;
extern const StrategyEntry kTwoRanges;
extern const StrategyEntry kAdaptive;

// Which of the two copies shadowed slots get.
enum class CopyDirection : uint8_t { kBoth, kByAccess };
constexpr bool NeedsCopyIn(CopyDirection direction, const SlotSpec& slot) {
  return direction == CopyDirection::kBoth || slot.access != Access::kWrite;
}
constexpr bool NeedsCopyOut(CopyDirection direction, const SlotSpec& slot) {
  return direction == CopyDirection::kBoth || slot.access != Access::kRead;
}

// Every slot in the same class.
std::unique_ptr<SlotPolicy> MakeUniformSlots(SlotClass slot_class);
// copy_shadow's: slots of at most `threshold` recorded bytes become shadowed.
void ShadowUpTo(uint64_t threshold, const ProgramSpec& program, std::span<SlotClass> classes);
// copy_shadow(threshold=auto) over the classes of `rest`. `remap` keeps the mapped slots current, and outlives it.
std::unique_ptr<SlotPolicy> MakeAutoThreshold(std::unique_ptr<SlotPolicy> rest, const RemapPolicy& remap,
                                              CopyDirection direction, StageMaker stage);
// skip_remap's way of keeping mapped slots current, which several strategies share.
std::unique_ptr<RemapPolicy> MakeSkipRemap(Identity identity, AccessGrain grain);
// Reads `access=range|run|slot` and checks that the driver takes it.
Result<AccessGrain> ReadAccessGrain(const Parameters& parameters, const StrategyContext& context);

}  // namespace remaplab
