// What every kind of replay is put together from: the program as the engine sees it, its backend, its GPU time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/strategy.h"
#include "replay/replayer.h"

namespace remaplab {

// ceil(size x ratio), at least 1 (definitions.md section 4).
uint64_t ScaleSize(uint64_t size, Ratio scale);

Touch TouchFor(VerifyMode mode);

// A backend for one program, with the options that it has of its own.
Result<std::unique_ptr<Backend>> MakeBackendFor(const ProgramSteps& program, const ReplayOptions& options);

// A simulated backend on which strategies try candidates out, whatever the run itself is on.
StageMaker StageFor(const ProgramSteps& program, const ReplayOptions& options);

const TraceProgram& FirstDeclaration(const Trace& trace, const ProgramSteps& program);

// The program as the engine sees it: scaled, rounded, filtered. `granularity` as resolved by ResolveGranularity.
ProgramSpec MakeProgramSpec(const TraceProgram& declaration, const ReplayOptions& options, uint64_t granularity);

// Where each slot of the declaration is in `spec`, or kNoEngineSlot when --slots left it out.
inline constexpr uint32_t kNoEngineSlot = ~0u;
std::vector<uint32_t> EngineSlots(const TraceProgram& declaration, const ProgramSpec& spec);

// The GPU time of one step of the trace: --gpu-step, else its own duration, else the program's.
int64_t GpuTimeOf(const Trace& trace, const ProgramSteps& program, uint32_t step, const ReplayOptions& options);

// Command line, else trace, else the backend's recommended one; error kUsage below the backend's minimum.
Result<uint64_t> ResolveGranularity(const Trace& trace, const ReplayOptions& options, const Capabilities& capabilities);

}  // namespace remaplab
