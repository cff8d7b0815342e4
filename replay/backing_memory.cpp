#include "replay/backing_memory.h"

#include <fmt/format.h>

#include <utility>

namespace remaplab {
namespace {

constexpr uint32_t kNone = ~0u;

// What a fresh launch reads in a backing: different for each, and never 0.
uint64_t TagOf(uint32_t backing) { return (static_cast<uint64_t>(backing) + 1) * 0x9e3779b97f4a7c15ull; }

}  // namespace

BackingMemory::BackingMemory(Backend& backend, PhaseSwitch& phase, size_t backings)
    : backend_(backend), phase_(phase), entry_of_backing_(backings, kNone) {}

Result<Memory> BackingMemory::Get(uint32_t backing, uint64_t size, int device, int32_t space) {
  uint32_t& entry = entry_of_backing_[backing];
  if (entry != kNone) {
    if (pool_[entry].size < size) {
      return Fail(ErrorCode::kInput, fmt::format("backing number {} has {} bytes, but a slot of {} is bound to it",
                                                 backing, pool_[entry].size, size));
    }
    return pool_[entry];
  }
  phase_.phase = Phase::kAllocator;
  REMAPLAB_ASSIGN(const Memory memory, backend_.Create(size, device, space, TagOf(backing)));
  if (unused_.empty()) {
    unused_.push_back(static_cast<uint32_t>(pool_.size()));
    pool_.emplace_back();
  }
  entry = unused_.back();
  unused_.pop_back();
  pool_[entry] = memory;
  return memory;
}

void BackingMemory::Free(uint32_t backing, uint64_t ordinal) {
  if (entry_of_backing_[backing] != kNone) {
    freed_.push_back({backing, ordinal});
  }
}

Status BackingMemory::Release(uint32_t backing) {
  uint32_t& entry = entry_of_backing_[backing];
  if (entry == kNone) {
    return {};
  }
  REMAPLAB_TRY(backend_.Release(pool_[entry]));
  unused_.push_back(std::exchange(entry, kNone));
  return {};
}

Status BackingMemory::ReleaseUntil(uint64_t done) {
  while (!freed_.empty() && freed_.front().ordinal <= done) {
    phase_.phase = Phase::kAllocator;
    const uint32_t backing = freed_.front().backing;
    freed_.pop_front();
    REMAPLAB_TRY(Release(backing));
  }
  return {};
}

Status BackingMemory::ReleaseAll() {
  freed_.clear();
  Status first;
  for (uint32_t backing = 0; backing < entry_of_backing_.size(); ++backing) {
    if (entry_of_backing_[backing] == kNone) {
      continue;
    }
    phase_.phase = Phase::kAllocator;
    if (!Release(backing)) {
      phase_.phase = Phase::kCleanup;
      Status again = Release(backing);
      if (!again && first) {
        first = std::move(again);
      }
    }
  }
  return first;
}

}  // namespace remaplab
