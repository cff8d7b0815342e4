#include "traces/allocator/arena_model.h"

#include <algorithm>

namespace remaplab {
namespace {

constexpr uint64_t kAlignment = 256;

}  // namespace

MemoryId ArenaModel::Allocate(uint64_t size, RequestKey) {
  const uint64_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  return MemoryAt(Cut(rounded), rounded);
}

void ArenaModel::Free(MemoryId memory) { AddHole(memories_[memory].address, memories_[memory].size); }

// Merges with the neighbours on both sides.
void ArenaModel::AddHole(uint64_t address, uint64_t size) {
  auto next = holes_.lower_bound(address);
  if (next != holes_.end() && next->first == address + size) {
    size += next->second;
    RemoveHole(next);
  }
  next = holes_.lower_bound(address);
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      address = before->first;
      size += before->second;
      RemoveHole(before);
    }
  }
  holes_.emplace(address, size);
  by_size_.emplace(size, address);
}

void ArenaModel::RemoveHole(Holes::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

uint64_t ArenaModel::Cut(uint64_t size) {
  auto hole = holes_.end();
  if (fit_ == Fit::kFirst) {
    hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& candidate) { return candidate.second >= size; });
  } else if (const auto best = by_size_.lower_bound({size, 0}); best != by_size_.end()) {
    hole = holes_.find(best->second);
  }
  if (hole == holes_.end()) {
    return Extend(size);
  }
  const auto [address, room] = *hole;
  RemoveHole(hole);
  if (room > size) {
    holes_.emplace(address + size, room - size);
    by_size_.emplace(room - size, address + size);
  }
  return address;
}

// Grows the arena, using up a hole at its end.
uint64_t ArenaModel::Extend(uint64_t size) {
  uint64_t address = end_;
  if (!holes_.empty()) {
    const auto last = std::prev(holes_.end());
    if (last->first + last->second == end_) {
      address = last->first;
      RemoveHole(last);
    }
  }
  Hold(address + size - end_);
  end_ = address + size;
  return address;
}

MemoryId ArenaModel::MemoryAt(uint64_t address, uint64_t size) {
  const auto [found, fresh] = known_.emplace(std::pair(address, size), static_cast<MemoryId>(memories_.size()));
  if (fresh) {
    memories_.push_back({address, size});
  }
  return found->second;
}

}  // namespace remaplab
