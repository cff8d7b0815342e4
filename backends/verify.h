// Checks after every launch that each slot's address reached the backing that was bound to it, by the tags that
// launches read and leave behind. Stale mappings, missing waits, lost and doubled writes, and copies that were
// forgotten or went the wrong way show here. It never stops a run: it counts, and keeps the first mismatches.
//
// The model: each backing has the tag that Create gave it until a launch writes it, which turns it into NextTag. A slot
// that stands in a shadow reads and writes the shadow; the copies carry tags between shadow and backing.
//
// Tags are looked at as late as the backend's readback_depth allows, so that launches may be in flight meanwhile;
// Finish() looks at the rest. On real backends that waits for the device; in simulated time it takes none.
//
// Stack it outside `instrument`, so that its own work is not timed.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "backends/backend.h"

namespace remaplab {

struct Mismatch {
  enum class What : uint8_t {
    kWrongTag,     // the launch read other memory, or memory that was not brought up to date
    kUnreachable,  // nothing mapped at the slot's address, no access, or pulled away under a running launch
    kNotTouched,   // Touch::kFull, and the backend says nothing about the slot
    kBacking,      // the backing's memory itself does not hold what was written to it
  };
  What what = What::kWrongTag;
  uint64_t step = 0;
  uint32_t slot = 0;
  uint64_t expected = 0;
  uint64_t got = 0;
};
std::string_view Name(Mismatch::What what);  // "wrong tag", "unreachable", "not touched", "backing"

class Verify final : public BackendWrapper {
 public:
  // `touch` is what the backend was made with. A backend without readback (readback_depth 0) is passed through
  // unchecked: checked() stays 0.
  Verify(Backend& inner, Touch touch);

  // Looks at everything that is still in flight, and at the backings of the last launch at their own addresses. To be
  // called after the last step, while the backings still exist. The error is the backend's, never a mismatch.
  Status Finish();

  uint64_t checked() const { return checked_; }  // tags looked at
  uint64_t mismatch_count() const { return mismatch_count_; }
  const std::vector<Mismatch>& mismatches() const { return mismatches_; }  // the first kMostKept of them
  static constexpr size_t kMostKept = 1000;

  Result<Memory> Create(uint64_t size, int device, int32_t space, uint64_t tag) override;
  Status Release(const Memory& memory) override;
  Result<Address> ShadowAlloc(uint64_t size, int device, int32_t space) override;
  Status ShadowFree(Address at, uint64_t size) override;
  Status Copy(Address to, Address from, uint64_t size) override;
  Result<CommandBufferId> Capture(std::span<const BakedSlot> slots, uint32_t commands) override;
  Status Update(CommandBufferId command_buffer, std::span<const BakedSlot> changed, uint32_t commands) override;
  Status DestroyCommandBuffer(CommandBufferId command_buffer) override;
  Status Launch(const LaunchSpec& launch) override;
  Status BeginStep(uint64_t step) override;
  Status EndStep(uint64_t step, bool launched) override;
  Status Synchronize() override;

 private:
  // A tag of which the bits in `known` are certain.
  struct Tag {
    uint64_t value = 0;
    uint64_t known = 0;
  };
  using PlaceId = uint64_t;  // a backing or a shadow, never used again
  static constexpr PlaceId kNowhere = 0;

  struct Touched {
    uint32_t slot = 0;
    Access access = Access::kUnknown;
    uint64_t bits = 0;           // of the tag that fit into the slot
    PlaceId backing = kNowhere;  // bound to the slot
    PlaceId shadow = kNowhere;   // where the command buffer finds the slot, when not at its mapping
  };
  // What happened on the stream, in order, and has not been looked at.
  struct Operation {
    enum class Kind : uint8_t { kLaunch, kCopy, kForget } kind = Kind::kLaunch;
    uint64_t step = 0;
    PlaceId to = kNowhere;  // kForget: the place
    PlaceId from = kNowhere;
    uint64_t bits = 0;
    std::vector<Touched> touched;
  };

  bool active() const { return depth_ != 0; }
  PlaceId PlaceAt(Address at) const;
  PlaceId NewPlace(Address at, Tag tag);
  void RemovePlace(Address at);
  void Push(Operation operation);
  Status DrainOne();
  Status DrainAll();
  Status DrainLaunch(const Operation& launch);
  void Compare(const Operation& launch, const Touched& touched, const LaunchTag& tag);
  void Report(Mismatch mismatch);
  Status CheckBackings(size_t stride, size_t offset);
  std::vector<Touched> Describe(const LaunchSpec& launch) const;

  Touch touch_;
  uint32_t depth_;
  uint64_t step_ = 0;
  uint64_t launches_ = 0;

  // As of now, for calls that come in.
  std::unordered_map<Address, PlaceId> place_at_;  // shadows and backings' own addresses
  std::unordered_map<Handle, PlaceId> place_of_;
  std::unordered_map<CommandBufferId, std::vector<BakedSlot>> command_buffers_;  // ascending by slot
  PlaceId last_place_ = kNowhere;

  // As of the oldest operation that has not been looked at.
  std::unordered_map<PlaceId, Tag> tags_;
  std::deque<Operation> operations_;
  uint32_t launches_pending_ = 0;
  std::vector<std::pair<PlaceId, Tag>> writes_;
  std::vector<LaunchTag> read_;

  std::vector<std::pair<uint32_t, Memory>> last_bound_;  // by the last launch

  std::vector<Mismatch> mismatches_;
  uint64_t mismatch_count_ = 0;
  uint64_t checked_ = 0;
};

}  // namespace remaplab
