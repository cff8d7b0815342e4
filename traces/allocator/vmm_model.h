// What the VMM policies share: whole memories in rounded sizes, each at addresses of its own, kept when freed.
#pragma once

#include <map>

#include "traces/allocator/policy.h"

namespace remaplab {

class VmmModel : public AllocatorModel {
 public:
  explicit VmmModel(uint64_t granularity) : granularity_(granularity) {}

  MemoryId Allocate(uint64_t size, RequestKey key) final;
  void Free(MemoryId memory) final;
  std::vector<MemoryId> ReleaseKept() final;

 protected:
  // Kept memory for a request of `rounded` bytes, no longer kept; nullopt when there is none that suits.
  virtual std::optional<MemoryId> Take(uint64_t rounded, RequestKey key) = 0;
  virtual void Keep(MemoryId memory) = 0;
  virtual void Forget() = 0;  // nothing is kept any more
  // Told about every memory that was handed out, taken or new.
  virtual void HandedOut(MemoryId, RequestKey) {}

 private:
  uint64_t TakeAddress(uint64_t rounded);

  uint64_t granularity_;
  uint64_t next_address_ = 0x300000000;
  std::vector<bool> kept_;                                  // by memory
  std::map<uint64_t, std::vector<uint64_t>> free_address_;  // by rounded size: addresses of released memory
};

}  // namespace remaplab
