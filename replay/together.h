// Several programs of one process at once, interleaved as recorded: each device on its own clocks, one lock around the
// driver, and devices that run the same step meet at its end, as their collectives make them (definitions.md section
// 7).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/program_steps.h"
#include "replay/replayer.h"
#include "traces/trace.h"

namespace remaplab {

// The same program on `devices` devices, 0 and up, as a process with that many equal devices would run it.
std::vector<ProgramSteps> CopiesOf(const ProgramSteps& program, uint32_t devices);

// All programs under one strategy, on sim only. One run per program, in their order. `listeners` has one entry per
// program, or is empty.
Result<std::vector<ProgramRun>> ReplayTogether(const Trace& trace, std::span<const ProgramSteps> programs,
                                               std::string_view strategy, const ReplayOptions& options,
                                               std::span<RunListener* const> listeners);

}  // namespace remaplab
