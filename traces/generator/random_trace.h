// Small traces that try to hurt: what a property test feeds to strategies, sessions and backends.
#pragma once

#include <cstdint>

#include "traces/trace.h"

namespace remaplab {

// Upper bounds, and switches for what a test does not want to see.
struct RandomTraceLimits {
  uint32_t programs = 2;           // at least 1
  uint32_t slots = 12;             // of a program; tables without any slot occur, too
  uint32_t steps = 40;             // of all programs together; at least 1
  uint64_t granularity = 4096;     // as the header says; slot sizes lie around its multiples
  bool redeclare = true;           // slots that appear, vanish, grow, move to another memory space; programs that end
  bool unbound_slots = true;       // null bindings
  bool aliases = true;             // several slots that hold the same backing
  bool reissued_addresses = true;  // other memory at an address that was freed: the hazard of comparing addresses
  bool unknown_addresses = true;   // backings whose address is not known
};

// A valid trace, the same for a seed on every machine. Every bound backing has the size of its slot, and two backings
// that exist at the same time never share an address. A slot that is bound to a backing of another slot (aliases) has
// that slot's size and memory space. Half of the seeds have identity "address": there, memory is only ever given back
// deferred.
Trace GenerateRandomTrace(uint64_t seed, const RandomTraceLimits& limits = {});

}  // namespace remaplab
