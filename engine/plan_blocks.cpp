// The building blocks that remap policies share; declared in engine/strategy.h.
#include <span>

#include "engine/strategy.h"

namespace remaplab {
namespace {

void AddUnmap(const Capabilities& capabilities, uint32_t set, uint32_t position, uint32_t count, StepPlan& plan) {
  const uint32_t calls = capabilities.multi_mapping_unmap ? 1 : count;
  for (uint32_t i = 0; i < calls; ++i) {
    plan.Add({.kind = CallKind::kUnmap,
              .set = static_cast<uint8_t>(set),
              .slot = position + i,
              .count = capabilities.multi_mapping_unmap ? count : 1});
  }
}

void AddAccess(const PlanView& view, uint32_t set, uint32_t position, uint32_t count, StepPlan& plan) {
  for (uint32_t device = 0; device < view.program.devices; ++device) {
    plan.Add({.kind = CallKind::kSetAccess,
              .set = static_cast<uint8_t>(set),
              .device = static_cast<uint16_t>(device),
              .slot = position,
              .count = count});
  }
}

// Calls `visit(first position, count)` for each maximal run of neighbours among `slots`, which are ascending.
template <typename Visit>
void ForEachRun(const Layout& layout, std::span<const uint32_t> slots, Visit visit) {
  for (size_t begin = 0; begin < slots.size();) {
    const uint32_t first = layout.position_of_slot[slots[begin]];
    size_t end = begin + 1;
    while (end < slots.size() && layout.position_of_slot[slots[end]] == first + (end - begin)) {
      ++end;
    }
    visit(first, static_cast<uint32_t>(end - begin));
    begin = end;
  }
}

}  // namespace

void PlanWait(uint32_t set, StepPlan& plan) { plan.Add({.kind = CallKind::kWait, .set = static_cast<uint8_t>(set)}); }

void PlanUnmapAll(const PlanView& view, uint32_t set, StepPlan& plan) {
  const MappedSet& state = view.sets[set];
  const uint32_t positions = view.layout.positions();
  if (state.mapped_count == positions && positions > 0) {
    AddUnmap(view.capabilities, set, 0, positions, plan);
    return;
  }
  // After a failure some places are empty: one call per stretch that is not.
  const auto holds = [&](uint32_t position) { return !state.content[view.layout.slot_of_position[position]].empty(); };
  for (uint32_t begin = 0; begin < positions && state.mapped_count > 0;) {
    uint32_t end = begin;
    while (end < positions && holds(end)) {
      ++end;
    }
    if (end > begin) {
      AddUnmap(view.capabilities, set, begin, end - begin, plan);
    }
    begin = end + 1;
  }
}

void PlanMapAll(const PlanView& view, uint32_t set, StepPlan& plan) {
  for (const uint32_t slot : view.layout.slot_of_position) {
    plan.Add({.kind = CallKind::kMap, .set = static_cast<uint8_t>(set), .slot = slot});
  }
  AddAccess(view, set, 0, view.layout.positions(), plan);
}

void PlanRemapChanged(const PlanView& view, uint32_t set, AccessGrain grain, StepPlan& plan) {
  if (view.sets[set].stale_mapped.empty()) {
    return;
  }
  const std::span<const uint32_t> stale = view.sets[set].stale_mapped.Sorted();
  PlanWait(set, plan);
  ForEachRun(view.layout, stale,
             [&](uint32_t position, uint32_t count) { AddUnmap(view.capabilities, set, position, count, plan); });
  for (const uint32_t slot : stale) {
    plan.Add({.kind = CallKind::kMap, .set = static_cast<uint8_t>(set), .slot = slot});
  }
  switch (grain) {
    case AccessGrain::kRange:
      AddAccess(view, set, 0, view.layout.positions(), plan);
      break;
    case AccessGrain::kRun:
      ForEachRun(view.layout, stale,
                 [&](uint32_t position, uint32_t count) { AddAccess(view, set, position, count, plan); });
      break;
    case AccessGrain::kSlot:
      for (const uint32_t slot : stale) {
        AddAccess(view, set, view.layout.position_of_slot[slot], 1, plan);
      }
      break;
  }
}

}  // namespace remaplab
