// The physical memory behind a trace's backings while a program is replayed: made before the step that binds a backing
// first, given back once the trace has freed it and the device is done with it. This is the allocator's work
// (definitions.md section 1): timed and counted, never part of a step's calls.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backends/backend.h"
#include "backends/phase.h"
#include "base/result.h"

namespace remaplab {

class BackingMemory {
 public:
  // Both must outlive it. `backings` is how many the trace has.
  BackingMemory(Backend& backend, PhaseSwitch& phase, size_t backings);

  // The backing's memory, made now if there is none yet. The reference holds until the next call.
  Result<Memory> Get(uint32_t backing, uint64_t size, int device, int32_t space);

  // The trace freed it after step `ordinal`.
  void Free(uint32_t backing, uint64_t ordinal);
  // Gives back what was freed after step `done` or before: the device has finished these steps.
  Status ReleaseUntil(uint64_t done);
  // Gives back everything. Goes on past errors, tries each once more under Phase::kCleanup, returns the first that
  // stays.
  Status ReleaseAll();

 private:
  Status Release(uint32_t backing);

  struct Freed {
    uint32_t backing;
    uint64_t ordinal;
  };

  Backend& backend_;
  PhaseSwitch& phase_;
  std::vector<uint32_t> entry_of_backing_;  // into pool_, or kNone
  std::vector<Memory> pool_;
  std::vector<uint32_t> unused_;  // of the pool
  std::deque<Freed> freed_;
};

}  // namespace remaplab
