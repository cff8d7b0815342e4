// How a framework's device allocator decides what memory a request gets. Policies only choose: no memory exists here.
//
// Memory is what a request is given: an address range that keeps its identity. VMM policies make memory whole and hand
// it out again whole, in sizes rounded to the granularity. Arena policies cut it out of one range; there, memory is the
// range itself: the same address and size is the same memory (definitions.md section 4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab {

enum class AllocatorPolicy : uint8_t { kRecorded, kFifo, kSmallest, kBestFit, kIdStable, kArena, kBfc };

struct AllocatorPolicyInfo {
  AllocatorPolicy policy;
  std::string_view name;
  std::string_view description;  // the idea, when it wins, when it loses
};
std::span<const AllocatorPolicyInfo> AllocatorPolicies();
Result<AllocatorPolicy> ParseAllocatorPolicy(std::string_view name);  // kUsage, naming what there is
std::string_view Name(AllocatorPolicy policy);

// Whether memory is cut out of one range, so that identity is the address.
constexpr bool IsArena(AllocatorPolicy policy) {
  return policy == AllocatorPolicy::kArena || policy == AllocatorPolicy::kBfc;
}

using MemoryId = uint32_t;  // dense, in the order in which a policy first hands memory out

// Names who asks, for policies that care: 0 is nobody in particular.
using RequestKey = uint64_t;

class AllocatorModel {
 public:
  virtual ~AllocatorModel() = default;

  // Memory of at least `size` bytes (> 0): kept memory again, or new.
  virtual MemoryId Allocate(uint64_t size, RequestKey key) = 0;
  // The memory goes back to the allocator, which keeps it.
  virtual void Free(MemoryId memory) = 0;

  // Gives up memory that is kept and unused, as an allocator under pressure does; its ids are never handed out again,
  // and its addresses come first for new memory. Returns what was given up, lowest id first. Arenas give up nothing.
  virtual std::vector<MemoryId> ReleaseKept() { return {}; }

  struct Memory {
    uint64_t address;
    uint64_t size;  // rounded as the policy rounds
  };
  const Memory& memory(MemoryId id) const { return memories_[id]; }
  size_t memories() const { return memories_.size(); }

  // Bytes that the allocator takes from the device: memory in use and kept, or the arena's extent. Now and at most.
  uint64_t held_bytes() const { return held_; }
  uint64_t peak_held_bytes() const { return peak_held_; }

 protected:
  void Hold(uint64_t bytes) {
    held_ += bytes;
    peak_held_ = held_ > peak_held_ ? held_ : peak_held_;
  }
  void Drop(uint64_t bytes) { held_ -= bytes; }

  std::vector<Memory> memories_;

 private:
  uint64_t held_ = 0;
  uint64_t peak_held_ = 0;
};

// `granularity` is what VMM policies round sizes to (0: 2 MiB); arenas round to 256 bytes. Not for kRecorded.
std::unique_ptr<AllocatorModel> MakeAllocatorModel(AllocatorPolicy policy, uint64_t granularity);

}  // namespace remaplab
