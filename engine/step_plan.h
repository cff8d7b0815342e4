// What one step will do, as a flat list of calls: strategies write it, RemapSession carries it out, golden tests print
// and compare it. A plan is reused from step to step and allocates nothing in steady state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/vocabulary.h"

namespace remaplab {

// Where a slot lives (definitions.md section 2). Absent: it has no memory on this step, so it is no part of the slot
// set (semantics, rule 5); the session decides that, never a policy.
enum class SlotClass : uint8_t { kMapped, kShadowed, kDynamic, kAbsent };
std::string_view Name(SlotClass slot_class);  // "mapped", "shadowed", "dynamic", "absent"

struct PlanOp {
  CallKind kind;
  uint8_t set = 0;        // which reservation with its command buffer; 0 unless the policy has several
  bool copy_out = false;  // kCopy: shadow to backing instead of backing to shadow
  uint16_t device = 0;    // kSetAccess: to whom
  uint32_t slot = 0;      // kMap, kCopy, kShadow*: the slot; kUnmap, kSetAccess: first position in the layout
  uint32_t count = 1;     // kUnmap, kSetAccess: how many neighbours; kUpdate: how many addresses change

  friend bool operator==(const PlanOp&, const PlanOp&) = default;
};

class StepPlan {
 public:
  void Clear() { ops_.clear(); }
  void Add(const PlanOp& op) { ops_.push_back(op); }
  std::span<const PlanOp> ops() const { return ops_; }
  void Reserve(size_t ops) { ops_.reserve(ops); }

  // One line per call: "unmap set 0 positions 5..6", "copy slot 7 in".
  std::string ToText() const;

 private:
  std::vector<PlanOp> ops_;
};

}  // namespace remaplab
