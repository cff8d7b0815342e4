// One range from which every request is cut: free neighbours merge, a larger chunk is split. What a request gets
// depends on the holes that the requests before it left, so addresses settle only when the whole sequence repeats
// exactly; in return the device sees one allocation and nothing is rounded up to its granularity.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "traces/allocator/policy.h"

namespace remaplab {

class ArenaModel final : public AllocatorModel {
 public:
  enum class Fit {
    kFirst,  // the hole with the lowest address
    kBest,   // the smallest hole, the lowest of them: XLA's BFC allocator
  };
  explicit ArenaModel(Fit fit) : fit_(fit) {}

  MemoryId Allocate(uint64_t size, RequestKey key) override;
  void Free(MemoryId memory) override;

 private:
  using Holes = std::map<uint64_t, uint64_t>;  // address -> size; no two touch

  void AddHole(uint64_t address, uint64_t size);
  void RemoveHole(Holes::iterator hole);
  uint64_t Cut(uint64_t size);
  uint64_t Extend(uint64_t size);
  MemoryId MemoryAt(uint64_t address, uint64_t size);

  Fit fit_;
  uint64_t end_ = 0x7f0000000000;  // of the arena; it grows upwards
  Holes holes_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // the same holes: size, address
  std::map<std::pair<uint64_t, uint64_t>, MemoryId> known_;
};

}  // namespace remaplab
