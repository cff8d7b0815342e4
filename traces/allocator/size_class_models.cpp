#include "traces/allocator/size_class_models.h"

namespace remaplab {
namespace {

std::optional<MemoryId> PopFront(std::deque<MemoryId>& queue) {
  if (queue.empty()) {
    return std::nullopt;
  }
  const MemoryId memory = queue.front();
  queue.pop_front();
  return memory;
}

}  // namespace

std::optional<MemoryId> FifoModel::Take(uint64_t rounded, RequestKey) { return PopFront(free_[rounded]); }
void FifoModel::Keep(MemoryId memory) { free_[memories_[memory].size].push_back(memory); }

std::optional<MemoryId> SmallestModel::Take(uint64_t rounded, RequestKey) {
  auto& free = free_[rounded];
  if (free.empty()) {
    return std::nullopt;
  }
  const MemoryId memory = free.begin()->second;
  free.erase(free.begin());
  return memory;
}
void SmallestModel::Keep(MemoryId memory) { free_[memories_[memory].size].emplace(memories_[memory].address, memory); }

std::optional<MemoryId> IdStableModel::Take(uint64_t rounded, RequestKey key) {
  Owned& own = owned_[{rounded, key}];
  if (const std::optional<MemoryId> memory = PopFront(own.free)) {
    return memory;
  }
  return own.memories < kPair ? Adopt(rounded) : std::nullopt;
}

// From whoever comes first: which one it is only matters until every slot has what it needs.
std::optional<MemoryId> IdStableModel::Adopt(uint64_t rounded) {
  for (auto at = owned_.lower_bound({rounded, 0}); at != owned_.end() && at->first.first == rounded; ++at) {
    if (const std::optional<MemoryId> memory = PopFront(at->second.free)) {
      --at->second.memories;
      owner_[*memory] = kNobody;
      return memory;
    }
  }
  return std::nullopt;
}

void IdStableModel::Keep(MemoryId memory) { owned_[{memories_[memory].size, owner_[memory]}].free.push_back(memory); }

void IdStableModel::Forget() {
  for (auto& [owner, own] : owned_) {
    own.memories -= static_cast<uint32_t>(own.free.size());
    own.free.clear();
  }
}

void IdStableModel::HandedOut(MemoryId memory, RequestKey key) {
  owner_.resize(memories_.size(), kNobody);
  if (owner_[memory] == kNobody) {
    owner_[memory] = key;
    ++owned_[{memories_[memory].size, key}].memories;
  }
}

}  // namespace remaplab
