#include "engine/oracle.h"

#include <algorithm>

namespace remaplab {
namespace {

constexpr uint32_t kNoSlot = ~0u;
constexpr uint64_t kDefaultWatch = 3;  // skip_profiled's

}  // namespace

Oracle::Oracle(const CostModel& costs, uint32_t run_ahead, int64_t host_step_ns, uint64_t warmup)
    : costs_(costs), run_ahead_(run_ahead), host_step_ns_(host_step_ns), warmup_(warmup) {}

// Idle or contended, whichever is cheaper.
int64_t Oracle::Cheapest(const CallShape& shape) const {
  CallShape contended = shape;
  contended.contended = true;
  return std::min(costs_.CallNs(shape), costs_.CallNs(contended));
}

// What `whole` costs more than `without`; less a nanosecond for the rounding of the two.
int64_t Oracle::Part(CallShape whole, CallShape without) const {
  int64_t part = INT64_MAX;
  for (const bool contended : {false, true}) {
    whole.contended = contended;
    without.contended = contended;
    part = std::min(part, costs_.CallNs(whole) - costs_.CallNs(without) - 1);
  }
  return std::max<int64_t>(part, 0);
}

Oracle::Baking Oracle::BakingCost(CallKind kind, uint32_t commands) const {
  const CallShape none{.kind = kind, .chunks = 0, .commands = commands};
  CallShape one = none;
  one.changed = 1;
  return Baking{std::max<int64_t>(Cheapest(none) - 1, 0), Part(one, none)};
}

void Oracle::Declare(const ProgramSpec& program) {
  if (!segments_.empty() && program.slots == slots_) {
    return;
  }
  slots_ = program.slots;
  const CallShape no_access{.kind = CallKind::kSetAccess, .chunks = 0};
  access_once_ns_ = program.devices * std::max<int64_t>(Cheapest(no_access) - 1, 0);
  update_ = BakingCost(CallKind::kUpdate, program.commands);
  capture_ = BakingCost(CallKind::kCapture, program.commands);
  shares_.clear();
  for (const SlotSpec& slot : program.slots) {
    const CallShape map{.kind = CallKind::kMap, .bytes = slot.mapped_size, .devices = 0};
    const CallShape access{.kind = CallKind::kSetAccess, .bytes = slot.mapped_size};
    const CallShape copy{.kind = CallKind::kCopy, .bytes = slot.size};
    shares_.push_back({Cheapest(copy), Cheapest(map) + program.devices * Part(access, no_access)});
  }
  segments_.push_back({.capture_ns = capture_.once_ns, .first_step = steps_ + 1, .visible_ns = {}});
}

bool Oracle::AppearsFirst(uint32_t slot_index, BackingId backing) {
  if (backing >= first_slot_.size()) {
    first_slot_.resize(backing + 1, kNoSlot);
  }
  if (first_slot_[backing] == kNoSlot) {
    first_slot_[backing] = slot_index;
    return true;
  }
  // Should two pairs ever share a key, the bound is merely lower.
  return first_slot_[backing] != slot_index && other_pairs_.insert(backing << 24 ^ slot_index).second;
}

// Every slot takes its cheapest class; which once-per-step costs are paid for that is tried out.
int64_t Oracle::CheapestMixture() const {
  int64_t best = INT64_MAX;
  constexpr Baking kNone{0, INT64_MAX};
  for (const Baking& baking : {kNone, update_, capture_}) {
    int64_t without_maps = baking.once_ns;
    int64_t with_maps = baking.once_ns + access_once_ns_;
    for (const uint32_t slot : fresh_) {
      const int64_t unmapped = std::min(shares_[slot].copy_ns, baking.each_ns);
      without_maps += unmapped;
      with_maps += std::min(shares_[slot].map_ns, unmapped);
    }
    best = std::min({best, without_maps, with_maps});
  }
  return best;
}

void Oracle::Step(std::span<const SlotChange> changes, int64_t gpu_ns) {
  ++steps_;
  fresh_.clear();
  for (const SlotChange& change : changes) {
    if (!change.binding.empty() && AppearsFirst(slots_[change.slot].index, change.binding.backing)) {
      fresh_.push_back(change.slot);
    }
  }
  gpu_ns_ += steps_ > warmup_ ? gpu_ns : 0;
  const bool counted = Counted(steps_);
  host_ns_ += counted ? host_step_ns_ : 0;
  segments_.back().visible_ns.push_back(counted && !fresh_.empty() ? CheapestMixture() : 0);
}

int64_t Oracle::TotalNs() const {
  size_t longest = 0;
  for (const Segment& segment : segments_) {
    longest = std::max(longest, segment.visible_ns.size());
  }
  // due[P]: what is due when P steps after each declaration are watched. Shorter segments are all watched, for nothing.
  std::vector<int64_t> due(std::max<size_t>(longest, kDefaultWatch + 1), 0);
  for (const Segment& segment : segments_) {
    int64_t rest = 0;
    for (size_t watched = segment.visible_ns.size(); watched-- > 0;) {
      // The first step with a command buffer after a watch pays for its capture, which may bake all that it shows.
      const bool counted = Counted(segment.first_step + watched);
      due[watched] += rest + (watched == 0 ? segment.visible_ns[0] : counted ? segment.capture_ns : 0);
      rest += segment.visible_ns[watched];
    }
  }
  return std::max(gpu_ns_, host_ns_ + *std::min_element(due.begin(), due.end()));
}

}  // namespace remaplab
