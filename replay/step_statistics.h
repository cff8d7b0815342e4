// The summary of a run's step times that definitions.md section 3 fixes.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/rows.h"

namespace remaplab {

// first is values[0]; total, median (lower middle) and p99 (nearest rank) leave out the first `warmup` values.
DurationSummary SummarizeSteps(std::span<const int64_t> values, uint64_t warmup);

}  // namespace remaplab
