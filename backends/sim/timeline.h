// What takes simulated time, as it happens, and a collector that turns it into a file for ui.perfetto.dev.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "engine/types.h"

namespace remaplab {

enum class TimelineTrack : uint8_t { kCpu, kGpu };

// Something that occupies the CPU or the GPU of a device from `start` to `end`, in ns of the clocks of definitions.md
// section 3. Spans of one track of one device never overlap.
struct TimelineSpan {
  TimelineTrack track = TimelineTrack::kCpu;
  // CPU: a call kind's name, "run_ahead" (held back by --run-ahead), "host" (--host-step), "driver_sync" (the driver
  // waits by itself) or "driver_lock" (another device's thread is in the driver). GPU: "copy" or "step".
  std::string_view name;
  int device = 0;
  uint64_t step = 0;
  int64_t start = 0;
  int64_t end = 0;
  int64_t waited_ns = 0;           // wait: of its duration, until the event
  Address address = kNullAddress;  // what the call acts on
  uint64_t size = 0;
};

class TimelineListener {
 public:
  virtual ~TimelineListener() = default;
  virtual void OnSpan(const TimelineSpan& span) = 0;
  // A command buffer was built or changed: says which addresses belong to which slots.
  virtual void OnBaked(int device, std::span<const BakedSlot> slots) = 0;
};

// Collects spans in memory; ToChromeJson gives the JSON object form of Chrome's trace event format: one process per
// device, one thread each for CPU and GPU, complete events with step, slot, address and size as arguments.
class Timeline final : public TimelineListener {
 public:
  void OnSpan(const TimelineSpan& span) override;
  void OnBaked(int device, std::span<const BakedSlot> slots) override;

  const std::vector<TimelineSpan>& spans() const { return spans_; }
  // `title` names the run, e.g. "jit_step_fn skip_remap".
  std::string ToChromeJson(std::string_view title) const;

 private:
  std::vector<TimelineSpan> spans_;
  std::map<std::pair<int, Address>, uint32_t> slot_at_;
};

}  // namespace remaplab
