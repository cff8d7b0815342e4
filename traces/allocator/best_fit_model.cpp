#include "traces/allocator/best_fit_model.h"

namespace remaplab {

std::optional<MemoryId> BestFitModel::Take(uint64_t rounded, RequestKey) {
  const auto found = free_.lower_bound({rounded, 0});
  if (found == free_.end() || found->first / kLargestWaste > rounded) {
    return std::nullopt;
  }
  const MemoryId memory = found->second;
  free_.erase(found);
  return memory;
}

void BestFitModel::Keep(MemoryId memory) { free_.emplace(memories_[memory].size, memory); }

}  // namespace remaplab
