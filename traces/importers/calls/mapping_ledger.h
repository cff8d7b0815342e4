// What one process has mapped and reserved, followed through its calls in time order, to recover what the calls do not
// say themselves. What began before the recording is not known, and answers that would need it are not given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "traces/call_recording.h"

namespace remaplab::calls {

class MappingLedger {
 public:
  // Fills in `chunks` of map, unmap and set_access, `devices` of unmap, and the address of an earlier reserve. The
  // calls must stay where they are until the last one was seen.
  void See(DriverCall& call);

 private:
  struct Mapping {
    uint64_t size;
    uint32_t devices;  // with access, 0: unknown
  };
  using Mappings = std::map<uint64_t, Mapping>;
  struct Covered {
    Mappings::iterator begin;
    Mappings::iterator end;
    uint32_t count;
  };

  // The mappings that make up exactly [address, address + size).
  std::optional<Covered> Cover(uint64_t address, uint64_t size);
  void Map(DriverCall& call);
  void Unmap(DriverCall& call);
  void SetAccess(DriverCall& call);
  void PlaceReservation(uint64_t address, uint64_t size);
  // The one that holds `address`, or of which it may be a part below the first map.
  std::multimap<uint64_t, DriverCall*>::iterator FindReservation(uint64_t address);
  void FreeReservation(const DriverCall& call);

  Mappings mappings_;
  // Reserves that were not freed yet.
  std::multimap<uint64_t, DriverCall*> placed_;  // by address
  std::vector<DriverCall*> nameless_;            // of unknown address
};

}  // namespace remaplab::calls
