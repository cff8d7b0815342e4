// One line of a .remaptrace file, as the reader hands it out.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace.h"
#include "traces/writer.h"

namespace remaplab {

// Only the fields of its `type` mean something; the others hold what an earlier line left, so that vectors keep their
// memory.
struct TraceRecord {
  TraceEventType type = TraceEventType::kMark;
  uint64_t line = 0;  // from 1
  int64_t t = kUnknownTime;

  TraceProgram program;     // kProgram
  uint32_t program_id = 0;  // kProgramEnd, kStep

  // kAlloc, kFree, kDeferredFree
  uint64_t backing = 0;
  uint64_t address = kUnknownAddress;  // kAlloc
  uint64_t size = 0;                   // kAlloc
  bool reused = false;                 // kAlloc: as written

  // kStep
  uint64_t step = 0;
  int64_t duration = kUnknownTime;
  std::vector<TraceBind> bind;  // as written

  TraceMark mark;      // kMark; its t repeats `t`
  TraceTiming timing;  // kTiming

  // What the rules make of it (traces/rules.h): positions and dense numbers as in Trace.
  uint32_t dense_backing = 0;           // kAlloc, kFree, kDeferredFree
  bool first_alloc = false;             // kAlloc: the backing's life begins
  uint32_t declaration = 0;             // kProgram, kProgramEnd, kStep: running number of the declaration
  bool first_step = false;              // kStep: of its declaration
  std::vector<uint32_t> bound_slot;     // kStep: ascending positions; after the first step only what really changed
  std::vector<uint32_t> bound_backing;  // kStep: dense, or kUnboundSlot
};

}  // namespace remaplab
