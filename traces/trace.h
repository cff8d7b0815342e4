// A recorded run in memory: structure of arrays, delta coded, so that replaying a step costs work in proportion to what
// changed and not to the number of slots. The file format is traces/FORMAT.md; LoadTrace (traces/reader.h) fills this.
//
// Traces are immutable once loaded and may be read by several threads.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/vocabulary.h"

namespace remaplab {

inline constexpr uint64_t kUnknownAddress = std::numeric_limits<uint64_t>::max();
inline constexpr int64_t kUnknownTime = std::numeric_limits<int64_t>::min();
inline constexpr uint32_t kUnboundSlot = std::numeric_limits<uint32_t>::max();

struct TraceSlot {
  uint32_t index = 0;  // XLA's allocation index
  uint64_t size = 0;   // bytes, as recorded
  int32_t space = 0;   // memory space (XLA: color)
  SlotKind kind = SlotKind::kUnknown;
  Access access = Access::kUnknown;
  Tristate in_command_buffer = Tristate::kUnknown;
};

// One declaration of a program: a module on a device with its slot table, ascending by slot index. The same `id` may be
// declared again with another table; steps name the declaration that held.
struct TraceProgram {
  uint32_t id = 0;
  std::string module;
  int32_t device = 0;
  uint32_t commands = 0;  // of its command buffer; 0 when unknown
  std::vector<TraceSlot> slots;
};

enum class TraceEventType : uint8_t {
  kProgram,     // ref: index into programs
  kProgramEnd,  // ref: index of the declaration that ends
  kAlloc,  // ref: backing. The first alloc of a backing begins its life; a later one, after a deferred free, is the
           // allocator handing the same memory out again
  kFree,   // ref: backing, whose life ends here
  kDeferredFree,  // ref: backing. The buffer went back to the allocator, which keeps the memory
  kStep,          // ref: step
  kMark,          // ref: index into marks
  kTiming,        // ref: index into timings
};

// What a recording knows about whether memory behind a re-issued address is the same (definitions.md section 4).
enum class TraceIdentity : uint8_t { kBacking, kAddress };

struct TraceMark {
  std::string name;
  int64_t t = kUnknownTime;
};

// What the log itself measured, e.g. kind "update", 1227000 ns over 985 commands.
struct TraceTiming {
  std::string kind;
  int64_t ns = 0;
  uint64_t count = 0;
};

struct TraceHeader {
  int64_t version = 1;
  std::string source;        // "xla-log", "generator", ...
  std::string tool;          // what wrote the file
  uint64_t granularity = 0;  // bytes; 0 when unknown
  std::string allocator;     // "vmm", "bfc", ...; empty when unknown
  std::string meta_json = "{}";
};

struct TraceEnd {
  bool present = false;  // false: the file was cut off
  TraceIdentity identity = TraceIdentity::kBacking;
  bool starts_mid_life = false;
  uint64_t lost_events = 0;
  std::string counts_json = "{}";  // what else the writer counted, e.g. what of it was lost
};

struct Trace {
  TraceHeader header;
  TraceEnd end;
  std::string xxh3;             // XXH3-128 of the uncompressed bytes, 32 hex digits: the trace's identity
  uint64_t skipped_events = 0;  // lines of an event type that this version does not know

  std::vector<TraceProgram> programs;

  // Events in file order. `t` is ns since the recording's start, or kUnknownTime.
  struct Event {
    TraceEventType type;
    uint32_t ref;
  };
  std::vector<Event> events;
  std::vector<int64_t> event_t;

  // Backings, dense in order of first alloc.
  std::vector<uint64_t> backing_id;       // as in the file
  std::vector<uint64_t> backing_address;  // kUnknownAddress when the recording does not know
  std::vector<uint64_t> backing_size;     // the largest that was asked of it

  // Steps, dense in file order. Bindings are deltas: position in the program's slot table -> backing, or kUnboundSlot.
  // The first step after a declaration binds every slot; a later one has only slots whose backing differs from the step
  // before, so that their number is the changed slots of definitions.md. Positions ascend within a step.
  std::vector<uint32_t> step_program;  // index into programs
  std::vector<uint64_t> step_number;
  std::vector<int64_t> step_duration;           // GPU time in ns, or kUnknownTime
  std::vector<uint64_t> step_bind_begin = {0};  // one more than there are steps
  std::vector<uint32_t> bind_slot;
  std::vector<uint32_t> bind_backing;

  std::vector<TraceMark> marks;
  std::vector<TraceTiming> timings;

  size_t steps() const { return step_program.size(); }
  size_t backings() const { return backing_id.size(); }
  std::span<const uint32_t> BoundSlots(size_t step) const {
    return std::span(bind_slot).subspan(step_bind_begin[step], step_bind_begin[step + 1] - step_bind_begin[step]);
  }
  std::span<const uint32_t> BoundBackings(size_t step) const {
    return std::span(bind_backing).subspan(step_bind_begin[step], step_bind_begin[step + 1] - step_bind_begin[step]);
  }
};

}  // namespace remaplab
