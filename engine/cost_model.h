// What calls cost, as far as the oracle wants to know. The engine does not know where the numbers come from; replay
// fills this from a cost profile.
#pragma once

#include <cstdint>

#include "base/vocabulary.h"

namespace remaplab {

// One call, described by what its cost depends on (definitions.md section 3).
struct CallShape {
  CallKind kind;
  uint64_t bytes = 0;
  uint32_t chunks = 1;            // mappings that the call acts on
  uint32_t unchanged_chunks = 0;  // kSetAccess: of these, how many already have this access
  uint32_t devices = 1;           // devices with access to the mappings
  uint32_t commands = 0;          // kCapture, kUpdate
  uint32_t changed = 0;           // kCapture, kUpdate: addresses that change
  bool contended = false;         // the GPU is busy meanwhile
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // CPU time in nanoseconds.
  virtual int64_t CallNs(const CallShape& shape) const = 0;
};

}  // namespace remaplab
