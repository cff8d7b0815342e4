// The oracle's bound (engine/oracle.h) for one program of a trace, over the same steps as a run's totals.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "replay/program_steps.h"
#include "replay/replayer.h"
#include "replay/run_report.h"
#include "traces/trace.h"

namespace remaplab {

// `options` as of the runs that it stands beside, on sim.
Result<OracleBound> ComputeOracleBound(const Trace& trace, const ProgramSteps& program, const ReplayOptions& options);

}  // namespace remaplab
