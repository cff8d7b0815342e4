// What a trace says about one program: its steps in order, and what happened to its backings in between. Made once per
// program, then replayed under any number of strategies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/trace.h"

namespace remaplab {

struct ProgramEvent {
  enum class Type : uint8_t {
    kDeclare,  // ref: index into Trace::programs; holds from the next step on
    kStep,     // ref: step of the trace
    kFree,     // ref: backing whose life ends
    kReissue,  // ref: backing that was freed and handed out again, believed to be the same memory
  };
  Type type;
  uint32_t ref;
  uint32_t at;  // position in Trace::events, for replaying several programs in turn
};

struct ProgramSteps {
  uint32_t id = 0;
  std::string module;
  int32_t device = 0;
  uint32_t commands = 0;
  std::vector<ProgramEvent> events;  // the trace must outlive them; only backings that the program binds
  uint64_t steps = 0;
  int64_t gpu_step_ns = 0;  // median of the steps' durations, else the median start-to-start pace; 0 when unknown
  enum class GpuStepSource : uint8_t { kNone, kDuration, kPace } gpu_step_source = GpuStepSource::kNone;
};

// All programs that ran at least one step, in order of first declaration.
std::vector<ProgramSteps> SplitPrograms(const Trace& trace);

// Those that `pick` names: an id, or a module's whole name. Error kUsage naming what there is.
Result<std::vector<ProgramSteps>> PickPrograms(std::vector<ProgramSteps> programs, std::string_view pick);

}  // namespace remaplab
