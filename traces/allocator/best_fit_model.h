// The VMM policy that reuses the smallest kept memory that is large enough, whatever size it was made for. Takes the
// least memory from the device; a small buffer may sit in a large memory, and what the next large request finds then
// depends on everything before it.
#pragma once

#include <set>
#include <utility>

#include "traces/allocator/vmm_model.h"

namespace remaplab {

class BestFitModel final : public VmmModel {
 public:
  using VmmModel::VmmModel;

 private:
  // A memory this many times larger than the request is better left for something large.
  static constexpr uint64_t kLargestWaste = 8;

  std::optional<MemoryId> Take(uint64_t rounded, RequestKey key) override;
  void Keep(MemoryId memory) override;
  void Forget() override { free_.clear(); }

  std::set<std::pair<uint64_t, MemoryId>> free_;  // size, memory
};

}  // namespace remaplab
