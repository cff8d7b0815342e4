// One reservation with its command buffer and event, and what is mapped in it now. Most policies have one, two_ranges
// has two, cached_sets(k) up to k. The session changes it call by call, so that it is true at every moment, also after
// a call that failed.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sparse_set.h"
#include "engine/types.h"

namespace remaplab {

// Where the mapped slots lie: positions are neighbours in the reservation, in index order (semantics, section 1).
struct Layout {
  std::vector<uint32_t> slot_of_position;
  std::vector<uint32_t> position_of_slot;  // kNotMapped for slots of another class
  std::vector<uint64_t> offset;            // by position; one more entry: the reservation's size

  static constexpr uint32_t kNotMapped = ~0u;
  uint32_t positions() const { return static_cast<uint32_t>(slot_of_position.size()); }
  uint64_t bytes() const { return offset.empty() ? 0 : offset.back(); }
};

struct MappedSet {
  Address base = kNullAddress;  // kNullAddress: not reserved
  uint64_t reserved = 0;        // bytes of the reservation
  EventId event = 0;
  bool has_event = false;
  bool in_flight = false;  // launched and recorded since the last wait for it
  CommandBufferId command_buffer = kNoCommandBuffer;
  bool mapped = false;        // the first-step map has been completed
  uint64_t last_used = 0;     // ordinal of the step that launched it last
  uint32_t mapped_count = 0;  // positions that hold a mapping

  // By slot: for mapped slots what is mapped at its place, for dynamic ones what is baked. An empty binding is nothing.
  std::vector<Binding> content;
  SparseSet stale_mapped;   // mapped slots whose content differs, by the policy's identity, from the step's binding
  SparseSet stale_dynamic;  // dynamic slots likewise
  SparseSet wrong_memory;   // mapped slots that count as unchanged although other memory is mapped (the hazard)
};

}  // namespace remaplab
