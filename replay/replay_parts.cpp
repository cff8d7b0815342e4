#include "replay/replay_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace remaplab {

// Both parts of a ratio are small, so the rest cannot overflow.
uint64_t ScaleSize(uint64_t size, Ratio scale) {
  const uint64_t whole = size / scale.denominator;
  const uint64_t rest = size % scale.denominator * scale.numerator;
  return std::max<uint64_t>(1, whole * scale.numerator + (rest + scale.denominator - 1) / scale.denominator);
}

Touch TouchFor(VerifyMode mode) {
  switch (mode) {
    case VerifyMode::kOff:
      return Touch::kNone;
    case VerifyMode::kSample:
      return Touch::kSample;
    case VerifyMode::kFull:
      return Touch::kFull;
  }
  return Touch::kNone;
}

Result<std::unique_ptr<Backend>> MakeBackendFor(const ProgramSteps& program, const ReplayOptions& options) {
  BackendOptions own = options.backend_options;
  own.granularity = options.granularity;
  own.touch = TouchFor(options.verify);
  own.device = program.device;
  REMAPLAB_ASSIGN(std::unique_ptr<Backend> backend, MakeBackend(options.backend, own));
  const uint32_t available = backend->capabilities().max_devices;
  if (own.devices > available) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{} devices asked for, backend {} has {}", own.devices, options.backend, available));
  }
  return backend;
}

const TraceProgram& FirstDeclaration(const Trace& trace, const ProgramSteps& program) {
  const auto declared = std::find_if(program.events.begin(), program.events.end(), [](const ProgramEvent& event) {
    return event.type == ProgramEvent::Type::kDeclare;
  });
  return trace.programs[declared->ref];
}

StageMaker StageFor(const ProgramSteps& program, const ReplayOptions& options) {
  BackendOptions stage = options.backend_options;
  stage.granularity = options.granularity;
  stage.touch = Touch::kNone;
  stage.device = program.device;
  stage.jitter = 0;
  stage.timeline = nullptr;
  stage.sim_process = nullptr;
  return [stage] { return MakeBackend("sim", stage); };
}

ProgramSpec MakeProgramSpec(const TraceProgram& declaration, const ReplayOptions& options, uint64_t granularity) {
  ProgramSpec spec{.module = declaration.module,
                   .device = declaration.device,
                   .devices = options.backend_options.devices,
                   .granularity = granularity,
                   .commands = declaration.commands,
                   .slots = {}};
  for (const TraceSlot& slot : declaration.slots) {
    if (options.command_buffer_slots_only && slot.in_command_buffer != Tristate::kYes) {
      continue;
    }
    const uint64_t size = ScaleSize(slot.size, options.scale);
    spec.slots.push_back({.index = slot.index,
                          .recorded_size = slot.size,
                          .size = size,
                          .mapped_size = RoundUp(size, granularity),
                          .space = slot.space,
                          .kind = slot.kind,
                          .access = slot.access});
  }
  return spec;
}

std::vector<uint32_t> EngineSlots(const TraceProgram& declaration, const ProgramSpec& spec) {
  std::vector<uint32_t> engine_slot(declaration.slots.size(), kNoEngineSlot);
  uint32_t next = 0;  // both tables ascend by index
  for (size_t position = 0; position < declaration.slots.size() && next < spec.slots.size(); ++position) {
    if (declaration.slots[position].index == spec.slots[next].index) {
      engine_slot[position] = next++;
    }
  }
  return engine_slot;
}

int64_t GpuTimeOf(const Trace& trace, const ProgramSteps& program, uint32_t step, const ReplayOptions& options) {
  const int64_t duration = trace.step_duration[step];
  return options.gpu_step_ns.value_or(duration != kUnknownTime ? duration : program.gpu_step_ns);
}

Result<uint64_t> ResolveGranularity(const Trace& trace, const ReplayOptions& options,
                                    const Capabilities& capabilities) {
  uint64_t granularity = options.granularity != 0 ? options.granularity : trace.header.granularity;
  if (granularity == 0) {
    granularity = capabilities.recommended_granularity;
  }
  if (granularity < capabilities.minimum_granularity || granularity % capabilities.minimum_granularity != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("granularity {} is not a multiple of {}, the backend's minimum",
                                               granularity, capabilities.minimum_granularity));
  }
  return granularity;
}

}  // namespace remaplab
