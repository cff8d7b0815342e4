// Which cost term is worth fixing: what halving each would save per step, found by replaying with it halved.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/program_steps.h"
#include "replay/replayer.h"
#include "traces/trace.h"

namespace remaplab {

struct TermSaving {
  std::string term;               // "unmap.per_chunk"
  int64_t saved_per_step_ns = 0;  // mean over the steps that a run's total covers
};

// Largest saving first; terms that save nothing are left out. On sim only; one replay per term.
Result<std::vector<TermSaving>> RankTerms(const Trace& trace, const ProgramSteps& program, std::string_view strategy,
                                          const ReplayOptions& options);

}  // namespace remaplab
