// A driver-call recording: what a real run asked of the driver, as a profiler or the runtime's own log saw it. Unlike a
// trace it says nothing about programs and slots; it says which calls were made, when, for how long and, where the
// source knows, on which bytes. `compare` sets it beside what our engine would have done; `calibrate --from` turns it
// into a cost profile.
//
//   REMAPLAB_ASSIGN(const CallRecording recording, ImportCalls("run.db"));   // traces/importers/calls/call_importers.h
//   const auto summary = Summarize(recording);
//
// What a source cannot tell stays unknown here, and `losses` says in words what that was; nothing is made up.
// docs/call-recordings.md has the sources, and what each one knows.
//
// A recording is a value; reading it from several threads is fine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/vocabulary.h"

namespace remaplab {

enum class CallOutcome : uint8_t { kUnknown, kOk, kFailed };

// One call. Times are ns on the recording's clock.
struct DriverCall {
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  static constexpr int32_t kUnknownDevice = -1;

  int64_t start = 0;
  int64_t end = 0;              // equals start when the call is not timed
  uint64_t address = kUnknown;  // first byte acted on; of copies the destination
  uint64_t size = kUnknown;     // bytes
  uint64_t object = kUnknown;  // what was mapped, released, recorded, waited for, updated or launched: an opaque handle
  uint32_t thread = 0;         // index into CallRecording::threads
  uint32_t name = 0;           // index into CallRecording::texts: the function as the source spells it
  uint32_t code = 0;           // likewise: what it returned, e.g. "hipSuccess" or "0"; empty when unknown
  uint32_t chunks = 0;         // mappings acted on, where the recording itself shows them all; 0: unknown
  uint32_t devices = 0;        // set_access: devices in this one call; 0: unknown
  int32_t device = kUnknownDevice;  // the thread's current device, or the one that did the work
  CallKind kind = CallKind::kLaunch;
  CallOutcome outcome = CallOutcome::kUnknown;
  bool timed = true;              // false: the call was made, but its begin or end was not seen
  bool address_presumed = false;  // reserve: taken from the first map in the range, so an upper bound of its begin

  int64_t duration() const { return end - start; }
};

struct CallRecording {
  struct Thread {
    uint64_t pid = 0;
    uint64_t tid = 0;
  };
  // Functions that are none of the call kinds, by name, the longest total first.
  struct Other {
    std::string name;
    uint64_t calls = 0;
    int64_t ns = 0;
  };
  struct Loss {
    uint64_t count = 0;  // how often; 0: true of the whole recording
    std::string text;    // a sentence without its full stop
  };

  std::string source;             // the importer's name: "rocpd", "rocprofv3-csv", "amd-log", "nsys"
  std::string source_version;     // as the file says it; empty when it does not
  std::string clock;              // what the times are, for people
  int64_t resolution_ns = 1;      // of the times
  bool threads_known = true;      // false: the source does not tell threads apart; all calls are of threads[0]
  std::vector<DriverCall> calls;  // by start, then as recorded
  std::vector<Thread> threads;
  std::vector<std::string> texts;  // texts[0] is empty
  std::vector<Other> others;
  std::vector<Loss> losses;
};

struct CallTotal {
  uint64_t n = 0;      // calls, failed and untimed ones included
  int64_t ns = 0;      // of the timed ones
  uint64_t timed = 0;  // how many they are
};
using CallTotals = std::array<CallTotal, kCallKindCount>;  // indexed by CallKind

// Calls and time by kind over the whole recording: what `compare` puts beside a replay's counts.
CallTotals TotalsByKind(const CallRecording& recording);

struct CallSummary {
  uint64_t calls = 0;
  uint64_t failed = 0;
  uint64_t timed = 0;
  int64_t total = 0;   // ns, of the timed ones, as the rest
  int64_t median = 0;  // lower middle
  int64_t p99 = 0;     // nearest rank
  int64_t max = 0;
  uint64_t sized = 0;  // calls whose bytes are known
  uint64_t bytes = 0;  // of those
};
std::array<CallSummary, kCallKindCount> Summarize(const CallRecording& recording);

// The calls that a thread made from one launch of a command buffer to the next, the launch included. A run that
// launches several command buffers per training step has several of these per step; `executable` tells them apart.
struct LaunchGroup {
  uint32_t thread = 0;
  uint64_t executable = DriverCall::kUnknown;  // the launched command buffer's handle
  size_t launch = 0;                           // index into CallRecording::calls
  CallTotals totals{};
};
struct LaunchGroups {
  std::vector<LaunchGroup> groups;  // in the order of their launches
  CallTotals outside{};             // of threads that launch nothing, and after a thread's last launch
  std::string why_none;             // when there are no groups: what is missing
};
LaunchGroups GroupByLaunch(const CallRecording& recording);

// One measured call as a cost fit takes it.
struct CostPoint {
  CallKind kind = CallKind::kMap;
  uint64_t bytes = 0;
  uint32_t chunks = 1;
  uint32_t devices = 1;
  int64_t ns = 0;
};
struct CostPoints {
  std::vector<CostPoint> points;
  // Calls of kinds with a cost that gave no point: untimed, failed, or of unknown bytes, chunks or devices. Waits,
  // captures and updates never give one: a wait lasts as long as the GPU works, and commands are not recorded.
  std::array<uint64_t, kCallKindCount> left_out{};
};
CostPoints MeasuredCosts(const CallRecording& recording);

}  // namespace remaplab
