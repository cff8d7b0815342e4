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
  return PopFront(free_[{key, rounded}]);
}
void IdStableModel::Keep(MemoryId memory) { free_[{owner_[memory], memories_[memory].size}].push_back(memory); }
void IdStableModel::HandedOut(MemoryId memory, RequestKey key) {
  owner_.resize(memories_.size());
  owner_[memory] = key;
}

}  // namespace remaplab
