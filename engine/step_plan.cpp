#include "engine/step_plan.h"

#include <fmt/format.h>

#include <array>

namespace remaplab {
namespace {

std::string Describe(const PlanOp& op) {
  const uint32_t last = op.slot + op.count - 1;
  const std::string positions =
      op.count == 1 ? fmt::format("position {}", op.slot) : fmt::format("positions {}..{}", op.slot, last);
  switch (op.kind) {
    case CallKind::kMap:
      return fmt::format("set {} slot {}", op.set, op.slot);
    case CallKind::kUnmap:
      return fmt::format("set {} {}", op.set, positions);
    case CallKind::kSetAccess:
      return fmt::format("set {} {} device {}", op.set, positions, op.device);
    case CallKind::kCopy:
      return fmt::format("slot {} {}", op.slot, op.copy_out ? "out" : "in");
    case CallKind::kShadowAlloc:
    case CallKind::kShadowFree:
      return fmt::format("slot {}", op.slot);
    case CallKind::kUpdate:
      return fmt::format("set {} changes {}", op.set, op.count);
    default:
      return fmt::format("set {}", op.set);
  }
}

}  // namespace

std::string_view Name(SlotClass slot_class) {
  constexpr std::array<std::string_view, 4> kNames = {"mapped", "shadowed", "dynamic", "absent"};
  return kNames[static_cast<size_t>(slot_class)];
}

std::string StepPlan::ToText() const {
  std::string text;
  for (const PlanOp& op : ops_) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", Name(op.kind), Describe(op));
  }
  return text;
}

}  // namespace remaplab
