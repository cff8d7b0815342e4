// The state behind the simulated driver: reservations, physical memory, what is mapped where and who may reach it, and
// the tag that stands for the contents of each piece of memory. Knows no time. What a driver generation gets wrong, it
// gets wrong here (driver_profile.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/sim/driver_profile.h"
#include "base/result.h"
#include "engine/types.h"

namespace remaplab {

// How much a successful call did: what its cost depends on. All zero when the driver did nothing.
struct WorkDone {
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  uint64_t unchanged_chunks = 0;
  uint64_t chunk_devices = 0;  // sum over the chunks of their devices with access
  uint32_t devices = 0;        // devices with access to any of them
};

class AddressSpace {
 public:
  // `devices` can be given access; device 0 is the owner.
  AddressSpace(const DriverProfile& profile, uint32_t devices);

  Result<Address> Reserve(uint64_t size, uint64_t alignment);
  Status AddressFree(Address base, uint64_t size);
  Result<Memory> Create(uint64_t size, int device, uint64_t tag);
  Status Release(const Memory& memory);
  Result<WorkDone> Map(Address at, uint64_t size, Handle handle);
  Result<WorkDone> Unmap(Address at, uint64_t size);
  Result<WorkDone> SetAccess(Address at, uint64_t size, uint32_t device);
  Result<Address> ShadowAlloc(uint64_t size, int device);
  Status ShadowFree(Address at, uint64_t size);

  // The tag of the memory whose first byte is reachable by all devices at `at`, or null.
  uint64_t* TagAt(Address at);
  // Whether [at, at + size) is memory that all devices can reach.
  bool Reachable(Address at, uint64_t size) const;
  // The tag of a backing by its handle, or null when there is no such memory.
  uint64_t* TagOf(Handle handle);

  void Count(Outstanding& outstanding) const;

 private:
  struct Physical {
    uint64_t size = 0;
    uint64_t tag = 0;
    Address own = kNullAddress;
    uint32_t references = 0;  // the owner's, one per mapping, and leaked ones
    uint32_t generation = 0;
    bool owned = false;  // the caller has not released it
  };
  struct Reservation {
    uint64_t size = 0;
    uint64_t mappings = 0;
    uint64_t mapped_bytes = 0;
    uint64_t overhanging = 0;  // mappings that run past the end
    bool forgotten = false;    // the runtime lost it, the driver holds it
    // Where mappings were made that some device may not reach yet. What is unmapped stays in here until the next look,
    // and an address may be here twice.
    std::vector<Address> lacking;
  };
  struct Mapping {
    uint64_t size = 0;
    Handle handle = kNoHandle;
    uint64_t access = 0;  // a bit per device
    bool forgotten = false;
  };
  struct Shadow {
    uint64_t size = 0;
    uint64_t tag = 0;
  };
  using Mappings = std::map<Address, Mapping>;
  using Reservations = std::map<Address, Reservation>;

  struct Range {
    Address at;
    uint64_t size;
  };

  // What the driver makes of a misuse: true, go on and do it; false, report success and do nothing; or its error.
  Result<bool> Judge(Misuse misuse, CallKind kind, Range range) const;
  Physical* Find(Handle handle);
  void DropReference(Handle handle);
  Reservations::iterator ReservationAt(Address at);
  Mappings::const_iterator MappingOver(Address at) const;
  bool Overlaps(Range range) const;
  std::optional<Misuse> CheckMap(Range range, Handle handle);
  std::optional<Misuse> CheckUnmap(Range range) const;
  std::optional<Misuse> CheckSetAccess(Range range, uint32_t device);
  void AddMapping(Reservations::iterator reservation, Range range, Handle handle);
  bool IsWhole(Range range, const Reservation& reservation) const;
  WorkDone GrantWhole(Reservation& reservation, uint64_t bit);
  // Whether the mapping at `at` still lacks some device's access.
  bool Lacks(Address at) const;
  // The range of whole mappings that a call on `range` acts on: those inside it, or with kWholeChunk all it touches.
  Range WholeMappings(Range range, Effect effect) const;
  void Forget(Address at);

  const DriverProfile& profile_;
  uint32_t devices_;
  uint64_t all_access_;
  Reservations reservations_;
  Mappings mappings_;
  std::map<Address, Shadow> shadows_;
  std::map<Address, Handle> own_addresses_;
  std::vector<Physical> physical_;
  std::vector<uint32_t> free_physical_;
  std::map<uint64_t, std::vector<Address>> freed_ranges_;  // by size: handed out again at once, as real drivers do
  uint64_t live_physical_ = 0;
  Address next_reservation_;
  Address next_shadow_;
  Address next_own_;
};

}  // namespace remaplab
