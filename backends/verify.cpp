#include "backends/verify.h"

#include <algorithm>
#include <utility>

namespace remaplab {
namespace {

constexpr uint64_t kAllBits = ~uint64_t{0};
// How often, in launches, some backings are read at their own addresses, and how many parts they are split into. Rare,
// because on real backends it waits for the device.
constexpr uint64_t kSpotCheckEvery = 64;
constexpr size_t kSpotCheckParts = 16;

constexpr uint64_t LowBytes(uint64_t size) { return size >= 8 ? kAllBits : (uint64_t{1} << (8 * size)) - 1; }

bool BySlot(const BakedSlot& a, const BakedSlot& b) { return a.slot < b.slot; }

}  // namespace

std::string_view Name(Mismatch::What what) {
  switch (what) {
    case Mismatch::What::kWrongTag:
      return "wrong tag";
    case Mismatch::What::kUnreachable:
      return "unreachable";
    case Mismatch::What::kNotTouched:
      return "not touched";
    case Mismatch::What::kBacking:
      return "backing";
  }
  return "";
}

Verify::Verify(Backend& inner, Touch touch)
    : BackendWrapper(inner), touch_(touch), depth_(touch == Touch::kNone ? 0 : inner.capabilities().readback_depth) {}

Verify::PlaceId Verify::PlaceAt(Address at) const {
  const auto found = place_at_.find(at);
  return found == place_at_.end() ? kNowhere : found->second;
}

Verify::PlaceId Verify::NewPlace(Address at, Tag tag) {
  const PlaceId id = ++last_place_;
  place_at_[at] = id;
  tags_[id] = tag;
  return id;
}

void Verify::RemovePlace(Address at) {
  if (const auto found = place_at_.find(at); found != place_at_.end()) {
    Operation forget;
    forget.kind = Operation::Kind::kForget;
    forget.to = found->second;
    place_at_.erase(found);
    Push(std::move(forget));
  }
}

Result<Memory> Verify::Create(uint64_t size, int device, int32_t space, uint64_t tag) {
  REMAPLAB_ASSIGN(const Memory memory, inner_.Create(size, device, space, tag));
  if (active()) {
    place_of_[memory.handle] = NewPlace(memory.address, {.value = tag, .known = kAllBits});
  }
  return memory;
}

Status Verify::Release(const Memory& memory) {
  REMAPLAB_TRY(inner_.Release(memory));
  place_of_.erase(memory.handle);
  RemovePlace(memory.address);
  std::erase_if(last_bound_, [&](const auto& bound) { return bound.second.handle == memory.handle; });
  return {};
}

Result<Address> Verify::ShadowAlloc(uint64_t size, int device, int32_t space) {
  REMAPLAB_ASSIGN(const Address at, inner_.ShadowAlloc(size, device, space));
  if (active()) {
    NewPlace(at, {});
  }
  return at;
}

Status Verify::ShadowFree(Address at, uint64_t size) {
  REMAPLAB_TRY(inner_.ShadowFree(at, size));
  RemovePlace(at);
  return {};
}

Status Verify::Copy(Address to, Address from, uint64_t size) {
  REMAPLAB_TRY(inner_.Copy(to, from, size));
  if (active()) {
    Operation copy;
    copy.kind = Operation::Kind::kCopy;
    copy.to = PlaceAt(to);
    copy.from = PlaceAt(from);
    copy.bits = LowBytes(size);
    Push(std::move(copy));
  }
  return {};
}

Result<CommandBufferId> Verify::Capture(std::span<const BakedSlot> slots, uint32_t commands) {
  REMAPLAB_ASSIGN(const CommandBufferId id, inner_.Capture(slots, commands));
  if (active()) {
    std::vector<BakedSlot>& baked = command_buffers_[id];
    baked.assign(slots.begin(), slots.end());
    std::sort(baked.begin(), baked.end(), BySlot);
  }
  return id;
}

Status Verify::Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) {
  REMAPLAB_TRY(inner_.Update(command_buffer, changed, commands));
  if (active()) {
    std::vector<BakedSlot>& baked = command_buffers_[command_buffer];
    for (const BakedSlot& slot : changed) {
      const auto found = std::lower_bound(baked.begin(), baked.end(), slot, BySlot);
      if (found != baked.end() && found->slot == slot.slot) {
        *found = slot;
      }
    }
  }
  return {};
}

Status Verify::DestroyCommandBuffer(CommandBufferId command_buffer) {
  REMAPLAB_TRY(inner_.DestroyCommandBuffer(command_buffer));
  command_buffers_.erase(command_buffer);
  return {};
}

std::vector<Verify::Touched> Verify::Describe(const LaunchSpec& launch) const {
  std::vector<Touched> touched;
  touched.reserve(launch.bindings.size());
  const auto backing = [&](uint32_t slot) {
    if (slot >= launch.bindings.size() || launch.bindings[slot].empty()) {
      return kNowhere;
    }
    const auto found = place_of_.find(launch.bindings[slot].memory.handle);
    return found == place_of_.end() ? kNowhere : found->second;
  };
  if (launch.command_buffer == kNoCommandBuffer) {
    for (uint32_t slot = 0; slot < launch.bindings.size(); ++slot) {
      if (!launch.bindings[slot].empty()) {
        touched.push_back({.slot = slot, .access = Access::kBoth, .bits = kAllBits, .backing = backing(slot)});
      }
    }
    return touched;
  }
  if (const auto found = command_buffers_.find(launch.command_buffer); found != command_buffers_.end()) {
    for (const BakedSlot& baked : found->second) {
      const PlaceId bound = backing(baked.slot);
      const PlaceId place = PlaceAt(baked.address);
      touched.push_back({.slot = baked.slot,
                         .access = baked.access,
                         .bits = LowBytes(baked.size),
                         .backing = bound,
                         .shadow = place == bound ? kNowhere : place});
    }
  }
  return touched;
}

Status Verify::Launch(const LaunchSpec& launch) {
  if (!active()) {
    return inner_.Launch(launch);
  }
  while (launches_pending_ >= depth_) {
    REMAPLAB_TRY(DrainOne());
  }
  REMAPLAB_TRY(inner_.Launch(launch));
  ++launches_;
  Operation operation;
  operation.kind = Operation::Kind::kLaunch;
  operation.step = step_;
  operation.touched = Describe(launch);
  ++launches_pending_;
  operations_.push_back(std::move(operation));
  last_bound_.clear();
  for (uint32_t slot = 0; slot < launch.bindings.size(); ++slot) {
    if (!launch.bindings[slot].empty()) {
      last_bound_.emplace_back(slot, launch.bindings[slot].memory);
    }
  }
  return {};
}

void Verify::Push(Operation operation) {
  operations_.push_back(std::move(operation));
  // Whatever comes before the oldest launch can be looked at without waiting.
  while (!operations_.empty() && operations_.front().kind != Operation::Kind::kLaunch) {
    static_cast<void>(DrainOne());
  }
}

Status Verify::DrainOne() {
  const Operation operation = std::move(operations_.front());
  operations_.pop_front();
  switch (operation.kind) {
    case Operation::Kind::kLaunch: {
      Status status = DrainLaunch(operation);
      --launches_pending_;
      return status;
    }
    case Operation::Kind::kForget:
      tags_.erase(operation.to);
      return {};
    case Operation::Kind::kCopy: {
      const auto to = tags_.find(operation.to);
      if (to != tags_.end()) {
        const auto from = tags_.find(operation.from);
        to->second = from == tags_.end() ? Tag{} : from->second;
        to->second.known &= operation.bits;
      }
      return {};
    }
  }
  return {};
}

Status Verify::DrainLaunch(const Operation& launch) {
  REMAPLAB_TRY(inner_.ReadTags(launches_pending_ - 1, read_));
  writes_.clear();
  size_t seen = 0;
  for (const LaunchTag& tag : read_) {
    const auto found = std::lower_bound(launch.touched.begin(), launch.touched.end(), tag.slot,
                                        [](const Touched& touched, uint32_t slot) { return touched.slot < slot; });
    if (found != launch.touched.end() && found->slot == tag.slot) {
      ++seen;
      Compare(launch, *found, tag);
    }
  }
  if (touch_ == Touch::kFull && seen < launch.touched.size()) {
    for (const Touched& touched : launch.touched) {
      if (std::none_of(read_.begin(), read_.end(), [&](const LaunchTag& tag) { return tag.slot == touched.slot; })) {
        Report({.what = Mismatch::What::kNotTouched, .step = launch.step, .slot = touched.slot});
      }
    }
  }
  // A launch reads everything before it writes anything.
  for (const auto& [place, tag] : writes_) {
    tags_[place] = tag;
  }
  return {};
}

void Verify::Compare(const Operation& launch, const Touched& touched, const LaunchTag& tag) {
  const auto backing = tags_.find(touched.backing);
  if (backing == tags_.end()) {
    return;  // bound to memory that was not made through this wrapper: nothing is known about it
  }
  ++checked_;
  // A shadow that is only written need not be up to date: its own content is what the launch finds.
  const bool own_content = touched.shadow != kNowhere && touched.access == Access::kWrite;
  const auto place = own_content ? tags_.find(touched.shadow) : backing;
  const Tag expected = place == tags_.end() ? Tag{} : place->second;
  const uint64_t bits = expected.known & touched.bits;
  const bool right = tag.reachable && ((tag.value ^ expected.value) & bits) == 0;
  if (!right) {
    Report({.what = tag.reachable ? Mismatch::What::kWrongTag : Mismatch::What::kUnreachable,
            .step = launch.step,
            .slot = touched.slot,
            .expected = expected.value & bits,
            .got = tag.value & bits});
  }
  if (touched.access == Access::kRead || !tag.reachable) {
    return;
  }
  const Tag written{.value = NextTag(tag.value), .known = touched.bits};
  if (touched.shadow != kNowhere) {
    writes_.emplace_back(touched.shadow, written);
  }
  // A launch that read other memory wrote other memory too, and left the backing as it was.
  if (right) {
    writes_.emplace_back(touched.backing, written);
  }
}

void Verify::Report(Mismatch mismatch) {
  ++mismatch_count_;
  if (mismatches_.size() < kMostKept) {
    mismatches_.push_back(mismatch);
  }
}

Status Verify::DrainAll() {
  while (!operations_.empty()) {
    REMAPLAB_TRY(DrainOne());
  }
  return {};
}

Status Verify::CheckBackings(size_t stride, size_t offset) {
  REMAPLAB_TRY(DrainAll());
  for (size_t i = offset; i < last_bound_.size(); i += stride) {
    const auto& [slot, memory] = last_bound_[i];
    const auto place = place_of_.find(memory.handle);
    const auto tag = place == place_of_.end() ? tags_.end() : tags_.find(place->second);
    if (tag == tags_.end()) {
      continue;
    }
    REMAPLAB_ASSIGN(const uint64_t got, inner_.ReadTag(memory));
    ++checked_;
    const uint64_t bits = tag->second.known;
    if (((got ^ tag->second.value) & bits) != 0) {
      Report({.what = Mismatch::What::kBacking,
              .step = step_,
              .slot = slot,
              .expected = tag->second.value & bits,
              .got = got & bits});
    }
  }
  return {};
}

Status Verify::BeginStep(uint64_t step) {
  step_ = step;
  return inner_.BeginStep(step);
}

Status Verify::EndStep(uint64_t step, bool launched) {
  REMAPLAB_TRY(inner_.EndStep(step, launched));
  if (active() && launched && launches_ % kSpotCheckEvery == 0) {
    return CheckBackings(kSpotCheckParts, launches_ / kSpotCheckEvery % kSpotCheckParts);
  }
  return {};
}

Status Verify::Synchronize() {
  REMAPLAB_TRY(inner_.Synchronize());
  return active() ? DrainAll() : Status();
}

Status Verify::Finish() { return active() ? CheckBackings(1, 0) : Status(); }

}  // namespace remaplab
