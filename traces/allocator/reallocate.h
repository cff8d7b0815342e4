// The allocator as a variable: what a recorded run would have bound, had its allocator followed another policy.
//
// Every alloc of the trace is a request and every free ends it; the policy decides anew which memory each request gets.
// What the program asks for and when stays as recorded, so the result answers "what if only the allocator were
// different". Memory behind the recording's addresses is forgotten: a policy starts with nothing, never comes under
// memory pressure and keeps what is freed, so that plain frees become deferred ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/allocator/policy.h"
#include "traces/trace.h"

namespace remaplab {

// How a trace's bindings move, for one program id.
struct BindingStatistics {
  uint64_t changed_slot_steps = 0;  // as TraceSummary counts them
  uint64_t changed_steps = 0;
  uint64_t runs = 0;
  // Sets of bindings: of all slots, and of the slots above kShadowBorder alone, for strategies that shadow the others.
  struct Sets {
    uint64_t distinct = 0;
    // Steps whose set is among the k + 1 last used different sets of the same declaration: what cached_sets(k=k+1)
    // finds ready. [0] are the steps without a change.
    std::array<uint64_t, 8> steps_in_cached{};
  };
  Sets all;
  Sets large;
};
inline constexpr uint64_t kShadowBorder = 65536;  // bytes, as recorded

struct ReallocationReport {
  AllocatorPolicy policy = AllocatorPolicy::kRecorded;
  struct Program {
    uint32_t id = 0;
    std::string module;
    uint64_t steps = 0;
    BindingStatistics before;
    BindingStatistics after;
  };
  std::vector<Program> programs;  // by id
  uint64_t requests = 0;          // allocs
  // Peak bytes that the allocator takes from the device, rounded as it rounds: memory in use and kept; an arena's
  // extent.
  uint64_t peak_bytes_before = 0;
  uint64_t peak_bytes_after = 0;
  uint64_t backings_before = 0;
  uint64_t backings_after = 0;
};

struct ReallocatedTrace {
  Trace trace;  // a valid trace; `xxh3` is derived from the original's and the policy's name
  ReallocationReport report;
};

// Pure and deterministic. kRecorded returns the trace as it is. `granularity`: what VMM policies round to, 0 for the
// trace's own (2 MiB when unknown). Work in proportion to steps x slots.
ReallocatedTrace ReallocateTrace(const Trace& trace, AllocatorPolicy policy, uint64_t granularity = 0);

}  // namespace remaplab
