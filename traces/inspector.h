// What is in a trace, as numbers: per program its slots and how they move, for the whole what was recorded and what
// lost.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace.h"

namespace remaplab {

// Sizes by the borders that strategies care about: what a shadow may take, one granule, one large weight.
struct SizeClass {
  std::string_view name;
  uint64_t largest;  // inclusive
};
inline constexpr std::array<SizeClass, 6> kSizeClasses = {{{"<= 256 B", 256},
                                                           {"<= 4 KiB", 4096},
                                                           {"<= 64 KiB", 65536},
                                                           {"<= 2 MiB", 2097152},
                                                           {"<= 64 MiB", 67108864},
                                                           {"> 64 MiB", std::numeric_limits<uint64_t>::max()}}};
inline constexpr size_t kSlotKindCount = 4;

struct SlotTally {
  uint64_t slots = 0;
  uint64_t bytes = 0;    // as recorded
  uint64_t changes = 0;  // changed slot-steps
};

struct SlotMovement {
  TraceSlot slot;
  uint64_t changes = 0;            // steps on which its backing differed from the step before
  uint64_t distinct_backings = 0;  // that it was bound to
};

// One program id: all its declarations together. Slots are those of its last declaration that has steps.
struct ProgramSummary {
  uint32_t id = 0;
  std::string module;
  int32_t device = 0;
  uint32_t commands = 0;
  uint64_t declarations = 0;

  uint64_t slots = 0;
  uint64_t bytes = 0;                                                            // as recorded
  uint64_t bytes_mapped = 0;                                                     // each slot rounded to the granularity
  std::array<std::array<SlotTally, kSizeClasses.size()>, kSlotKindCount> tally;  // by kind and size class

  uint64_t steps = 0;
  // Changed slots per step over the steps that follow another step of the same declaration; lower middle.
  uint64_t changed_min = 0;
  uint64_t changed_median = 0;
  uint64_t changed_max = 0;
  uint64_t changed_slot_steps = 0;         // their sum
  uint64_t changed_steps = 0;              // steps on which anything changed
  uint64_t runs = 0;                       // maximal sequences of changed neighbours, summed over those steps
  uint64_t same_address_changes = 0;       // changed slots whose new backing has the old one's address
  int64_t duration_median = kUnknownTime;  // of the steps that have one
  std::vector<SlotMovement> movers;        // the ten that changed most often, most first; only of the last declaration
};

struct TimingInfo {
  std::string kind;
  uint64_t events = 0;
  int64_t ns = 0;      // sum, held at the largest number
  uint64_t count = 0;  // sum, likewise
};

struct TraceSummary {
  uint64_t granularity = 1;          // what bytes_mapped was rounded to; 1 when nobody said
  std::array<uint64_t, 8> events{};  // by TraceEventType
  uint64_t backings = 0;
  uint64_t reused_allocs = 0;            // allocs that handed out kept memory again
  uint64_t unknown_addresses = 0;        // backings
  std::vector<ProgramSummary> programs;  // by id
  std::vector<TimingInfo> timings;       // by kind
};

// `granularity` 0: the trace's own.
TraceSummary InspectTrace(const Trace& trace, uint64_t granularity = 0);

}  // namespace remaplab
