#include "tests/bench/churn_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "traces/writer.h"

namespace remaplab::bench {
namespace {

bool quick = false;

constexpr uint64_t kSlotSize = 100'000;
constexpr int64_t kStepNs = 1'000'000;

// Each slot has two backings, which it uses in turn.
Status Write(const ChurnShape& shape, const std::string& path) {
  TraceHeader header;
  header.source = "benchmark";
  header.tool = "remaplab_benchmarks";
  header.granularity = 2 << 20;
  header.allocator = "vmm";
  REMAPLAB_ASSIGN(TraceWriter writer, TraceWriter::Create(path, header));
  TraceProgram program{.id = 1, .module = "churn", .device = 0, .commands = 1000, .slots = {}};
  std::vector<TraceBind> bind;
  for (uint32_t slot = 0; slot < shape.slots; ++slot) {
    program.slots.push_back({.index = slot, .size = kSlotSize});
    bind.push_back({.slot = slot, .backing = 2 * uint64_t{slot}});
  }
  writer.Program(program, 0);
  for (uint64_t backing = 0; backing < 2 * uint64_t{shape.slots}; ++backing) {
    writer.Alloc({.backing = backing, .address = (backing + 1) << 21, .size = kSlotSize, .t = 0});
  }
  std::vector<uint64_t> current(shape.slots);
  const uint32_t stride = std::max(1u, shape.slots / shape.changes);
  for (uint64_t step = 0; step < shape.steps; ++step) {
    const int64_t t = static_cast<int64_t>(step + 1) * kStepNs;
    writer.Step({.program = 1, .step = step, .t = t, .duration = kStepNs, .bind = bind});
    bind.clear();
    for (uint32_t i = 0; i < shape.changes; ++i) {
      const uint32_t slot = i * stride + static_cast<uint32_t>(step % stride);
      current[slot] ^= 1;
      bind.push_back({.slot = slot, .backing = 2 * uint64_t{slot} + current[slot]});
    }
  }
  TraceEnd end;
  end.present = true;
  return writer.Finish(end);
}

}  // namespace

void SetQuick(bool on) { quick = on; }
uint64_t Shortened(uint64_t steps) { return quick ? steps / 100 : steps; }

std::string ChurnTrace(ChurnShape shape) {
  shape.steps = Shortened(shape.steps);
  const std::string name =
      fmt::format("remaplab-churn-{}-{}-{}.remaptrace.zst", shape.slots, shape.steps, shape.changes);
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  if (!std::filesystem::exists(path)) {
    if (const Status written = Write(shape, path); !written) {
      fmt::print(stderr, "remaplab_benchmarks: {}\n", written.error().message());
      std::exit(2);
    }
  }
  return path;
}

}  // namespace remaplab::bench
