#include "replay/program_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/statistics.h"

namespace remaplab {
namespace {

// Marks the backings that each program binds, so that it hears of no others.
class BoundBackings {
 public:
  BoundBackings(const Trace& trace, size_t programs, const std::vector<uint32_t>& program_of_declaration)
      : bound_(programs, std::vector<bool>(trace.backings())) {
    for (size_t step = 0; step < trace.steps(); ++step) {
      std::vector<bool>& bound = bound_[program_of_declaration[trace.step_program[step]]];
      for (const uint32_t backing : trace.BoundBackings(step)) {
        if (backing != kUnboundSlot) {
          bound[backing] = true;
        }
      }
    }
  }
  bool Binds(size_t program, uint32_t backing) const { return bound_[program][backing]; }

 private:
  std::vector<std::vector<bool>> bound_;
};

void SetGpuStep(const Trace& trace, const std::vector<int64_t>& starts, ProgramSteps& program) {
  std::vector<int64_t> durations;
  for (const ProgramEvent& event : program.events) {
    if (event.type == ProgramEvent::Type::kStep && trace.step_duration[event.ref] != kUnknownTime) {
      durations.push_back(trace.step_duration[event.ref]);
    }
  }
  using Source = ProgramSteps::GpuStepSource;
  program.gpu_step_source = Source::kDuration;
  if (durations.empty()) {
    program.gpu_step_source = Source::kPace;
    for (size_t i = 1; i < starts.size(); ++i) {
      if (starts[i] >= starts[i - 1]) {  // time goes back where one run ends and another begins
        durations.push_back(starts[i] - starts[i - 1]);
      }
    }
  }
  program.gpu_step_ns = Summarize(durations).median;
  if (durations.empty()) {
    program.gpu_step_source = Source::kNone;
  }
}

}  // namespace

std::vector<ProgramSteps> SplitPrograms(const Trace& trace) {
  std::vector<ProgramSteps> programs;
  std::map<uint32_t, uint32_t> by_id;
  std::vector<uint32_t> program_of_declaration;
  for (const TraceProgram& declaration : trace.programs) {
    const auto [at, fresh] = by_id.try_emplace(declaration.id, static_cast<uint32_t>(programs.size()));
    if (fresh) {
      ProgramSteps& program = programs.emplace_back();
      program.id = declaration.id;
      program.module = declaration.module;
      program.device = declaration.device;
      program.commands = declaration.commands;
    }
    program_of_declaration.push_back(at->second);
  }

  const BoundBackings bound(trace, programs.size(), program_of_declaration);
  std::vector<std::vector<int64_t>> starts(programs.size());
  std::vector<bool> seen(trace.backings());
  const auto tell_binders = [&](uint32_t backing, ProgramEvent::Type type, uint32_t at) {
    for (size_t i = 0; i < programs.size(); ++i) {
      if (bound.Binds(i, backing)) {
        programs[i].events.push_back({type, backing, at});
      }
    }
  };
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const auto [type, ref] = trace.events[i];
    const uint32_t at = static_cast<uint32_t>(i);
    switch (type) {
      case TraceEventType::kProgram:
        programs[program_of_declaration[ref]].events.push_back({ProgramEvent::Type::kDeclare, ref, at});
        break;
      case TraceEventType::kStep: {
        const uint32_t program = program_of_declaration[trace.step_program[ref]];
        programs[program].events.push_back({ProgramEvent::Type::kStep, ref, at});
        ++programs[program].steps;
        if (trace.event_t[i] != kUnknownTime) {
          starts[program].push_back(trace.event_t[i]);
        }
        break;
      }
      case TraceEventType::kAlloc:
        if (seen[ref]) {
          tell_binders(ref, ProgramEvent::Type::kReissue, at);
        }
        seen[ref] = true;
        break;
      case TraceEventType::kFree:
        tell_binders(ref, ProgramEvent::Type::kFree, at);
        break;
      default:
        break;
    }
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    SetGpuStep(trace, starts[i], programs[i]);
  }
  std::erase_if(programs, [](const ProgramSteps& program) { return program.steps == 0; });
  return programs;
}

Result<std::vector<ProgramSteps>> PickPrograms(std::vector<ProgramSteps> programs, std::string_view pick) {
  std::string known;
  for (const ProgramSteps& program : programs) {
    known += fmt::format("{}{} ({}, device {})", known.empty() ? "" : ", ", program.id, program.module, program.device);
  }
  std::erase_if(programs, [&](const ProgramSteps& program) {
    return program.module != pick && fmt::format("{}", program.id) != pick;
  });
  if (programs.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("no program '{}' in the trace; it has {}", pick, known));
  }
  return programs;
}

}  // namespace remaplab
