// VMM policies that reuse memory within its rounded size only.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <utility>

#include "traces/allocator/vmm_model.h"

namespace remaplab {

// XLA's: the memory of the size that was freed longest ago. Nothing waits for the GPU, but every buffer that lives
// longer than a step turns its size class into a ring, in which all of the class move on every step.
class FifoModel final : public VmmModel {
 public:
  using VmmModel::VmmModel;

 private:
  std::optional<MemoryId> Take(uint64_t rounded, RequestKey key) override;
  void Keep(MemoryId memory) override;
  void Forget() override { free_.clear(); }

  std::map<uint64_t, std::deque<MemoryId>> free_;
};

// The lowest address of the size: the k-th request of a step gets the same memory again as soon as the set of free
// memory repeats, whatever the order of the frees was.
class SmallestModel final : public VmmModel {
 public:
  using VmmModel::VmmModel;

 private:
  std::optional<MemoryId> Take(uint64_t rounded, RequestKey key) override;
  void Keep(MemoryId memory) override;
  void Forget() override { free_.clear(); }

  std::map<uint64_t, std::set<std::pair<uint64_t, MemoryId>>> free_;  // address, memory
};

// Each requester (a program's slot) has memory of its own, and gets what of it was freed longest ago: a slot whose
// buffers live for k steps goes round in k + 1 memories and never meets another slot's. While it has fewer than two, it
// adopts what others of its size have free before new memory is made: what a run was started with is not left lying
// about. Requests without a key share FIFO classes.
class IdStableModel final : public VmmModel {
 public:
  using VmmModel::VmmModel;

 private:
  using Class = std::pair<uint64_t, RequestKey>;  // rounded size, key

  struct Owned {
    std::deque<MemoryId> free;
    uint32_t memories = 0;
  };

  std::optional<MemoryId> Take(uint64_t rounded, RequestKey key) override;
  void Keep(MemoryId memory) override;
  void Forget() override;
  void HandedOut(MemoryId memory, RequestKey key) override;
  std::optional<MemoryId> Adopt(uint64_t rounded);

  static constexpr RequestKey kNobody = ~RequestKey{0};
  static constexpr uint32_t kPair = 2;

  std::map<Class, Owned> owned_;
  std::vector<RequestKey> owner_;  // by memory
};

}  // namespace remaplab
