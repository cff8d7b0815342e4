#include "backends/sim/timeline.h"

#include <fmt/format.h>

#include <set>

#include "base/json_writer.h"

namespace remaplab {
namespace {

constexpr int64_t kCpuThread = 1;
constexpr int64_t kGpuThread = 2;

// The format counts microseconds; three decimals keep the nanoseconds.
std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

void WriteName(JsonWriter& json, std::string_view what, int64_t pid, int64_t tid, std::string_view name) {
  json.BeginObject().Key("name").String(what).Key("ph").String("M").Key("pid").Int(pid).Key("tid").Int(tid);
  json.Key("args").BeginObject().Key("name").String(name).EndObject().EndObject();
}

}  // namespace

void Timeline::OnSpan(const TimelineSpan& span) { spans_.push_back(span); }

void Timeline::OnBaked(int device, std::span<const BakedSlot> slots) {
  for (const BakedSlot& slot : slots) {
    slot_at_[{device, slot.address}] = slot.slot;
  }
}

std::string Timeline::ToChromeJson(std::string_view title) const {
  JsonWriter json;
  json.BeginObject().Key("displayTimeUnit").String("ns").Key("traceEvents").BeginArray();
  std::set<int> devices;
  for (const TimelineSpan& span : spans_) {
    devices.insert(span.device);
  }
  for (const int device : devices) {
    WriteName(json, "process_name", device, 0, fmt::format("{} device {}", title, device));
    WriteName(json, "thread_name", device, kCpuThread, "CPU");
    WriteName(json, "thread_name", device, kGpuThread, "GPU");
  }
  for (const TimelineSpan& span : spans_) {
    const bool cpu = span.track == TimelineTrack::kCpu;
    json.BeginObject().Key("name").String(span.name).Key("cat").String(cpu ? "cpu" : "gpu").Key("ph").String("X");
    json.Key("ts").Raw(Microseconds(span.start)).Key("dur").Raw(Microseconds(span.end - span.start));
    json.Key("pid").Int(span.device).Key("tid").Int(cpu ? kCpuThread : kGpuThread);
    json.Key("args").BeginObject().Key("step").UInt(span.step);
    if (span.address != kNullAddress) {
      json.Key("address").String(fmt::format("{:#x}", span.address)).Key("size").UInt(span.size);
      if (const auto slot = slot_at_.find({span.device, span.address}); slot != slot_at_.end()) {
        json.Key("slot").UInt(slot->second);
      }
    }
    if (span.waited_ns != 0) {
      json.Key("waited_ns").Int(span.waited_ns);
    }
    json.EndObject().EndObject();
  }
  json.EndArray().EndObject();
  return json.TakeText() + "\n";
}

}  // namespace remaplab
