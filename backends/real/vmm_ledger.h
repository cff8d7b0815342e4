// What a backend on a real virtual-memory API has reserved, created and mapped. It refuses what the contract of
// backend.h refuses before a driver is asked, because some drivers crash on misuse or accept it silently (hip-vmm.md
// 1.4), counts what is outstanding, and answers what lies behind an address.
//
// Use: Check...() first, then the driver's call, then the matching past-tense method. Check methods change nothing;
// past-tense methods must follow a successful check with the same arguments.
// Threads: one at a time. Errors: kDriver; messages name call, address and size.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "engine/types.h"

namespace remaplab {

class VmmLedger {
 public:
  static constexpr uint32_t kMaxDevices = 64;

  struct Mapping {
    Address at = kNullAddress;
    uint64_t size = 0;
    Handle handle = kNoHandle;
    uint64_t access = 0;  // one bit per device
  };

  // What an address leads to on device 0: physical memory or a shadow, never both.
  struct Place {
    Handle handle = kNoHandle;
    Address shadow = kNullAddress;
    uint64_t offset = 0;  // from the start of it

    explicit operator bool() const { return handle != kNoHandle || shadow != kNullAddress; }
  };

  VmmLedger(uint64_t granularity, uint32_t devices) : granularity_(granularity), devices_(devices) {}

  Status CheckReserve(uint64_t size, uint64_t alignment) const;
  void Reserved(Address base, uint64_t size) { reservations_.emplace(base, size); }
  Status CheckAddressFree(Address base, uint64_t size) const;
  void AddressFreed(Address base) { reservations_.erase(base); }

  Status CheckCreate(uint64_t size, int device) const;
  // Names new physical memory that is reachable at `address` by itself; handles are never used twice.
  Handle Created(uint64_t size, Address address);
  Status CheckRelease(const Memory& memory) const;
  // True when nothing maps the memory any more, so that the caller must free it now.
  bool Released(Handle handle);

  Status CheckMap(Address at, uint64_t size, Handle handle) const;
  void Mapped(Address at, uint64_t size, Handle handle);
  Status CheckUnmap(Address at, uint64_t size) const;
  // Appends to `dead` the memory that lost its last mapping after it was released; the caller must free it now.
  void Unmapped(Address at, uint64_t size, std::vector<Handle>& dead);
  Status CheckAccess(Address at, uint64_t size, uint32_t device) const;
  void AccessGiven(Address at, uint64_t size, uint32_t device);

  Status CheckShadowAlloc(uint64_t size, int device) const;
  void ShadowAllocated(Address at, uint64_t size);
  Status CheckShadowFree(Address at, uint64_t size) const;
  void ShadowFreed(Address at);

  // Whether device 0 may touch all of [at, at + size).
  bool Reachable(Address at, uint64_t size) const;
  Status CheckReachable(std::string_view call, Address at, uint64_t size) const;
  Place Resolve(Address at) const;
  // Changes whenever Reachable or Resolve may answer otherwise than before.
  uint64_t generation() const { return generation_; }

  // The reservation that holds [at, at + size), as {base, size}; {0, 0} when there is none.
  std::pair<Address, uint64_t> ReservationOf(Address at, uint64_t size) const;
  const std::map<Address, uint64_t>& reservations() const { return reservations_; }
  const std::map<Address, uint64_t>& shadows() const { return shadows_; }
  // The allocator's own mappings of memory that is not released, as (address, size).
  std::vector<std::pair<Address, uint64_t>> views() const;
  const std::map<Address, Mapping>& mappings() const { return mappings_; }

  // Events and command buffers are the backend's own to count.
  Outstanding outstanding() const;

 private:
  struct Physical {
    uint64_t size = 0;
    Address address = kNullAddress;
    uint64_t uses = 0;  // mappings in reservations
    bool owned = true;  // not yet released
  };

  // Whether [at, at + size) is exactly a run of neighbouring whole mappings in one reservation; says why not.
  Status CheckWholeMappings(std::string_view call, Address at, uint64_t size) const;
  // The end of what device 0 may touch without a gap from `at` on, or `at` itself.
  Address ReachableEnd(Address at) const;

  uint64_t granularity_;
  uint32_t devices_;
  Handle next_handle_ = 1;
  uint64_t owned_handles_ = 0;
  uint64_t generation_ = 1;
  std::map<Address, uint64_t> reservations_;
  std::map<Address, Mapping> mappings_;
  std::map<Address, Handle> views_;  // the allocator's own mapping of memory that is not released
  std::map<Address, uint64_t> shadows_;
  std::unordered_map<Handle, Physical> physical_;
};

// "unmap(0x7f0000200000, 2097152): " and the reason; how every backend words a refused call.
tl::unexpected<Error> Refused(std::string_view call, Address at, uint64_t size, std::string_view reason,
                              ErrorCode code = ErrorCode::kDriver);

}  // namespace remaplab
