// Measures what a real backend's calls cost, in the situations that a replay brings about: by size, over whole ranges
// of many mappings, a few changes in a live range, idle and while the GPU is busy. What comes out becomes a cost
// profile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/profiles/cost_profile.h"
#include "base/result.h"
#include "replay/calibration_fit.h"

namespace remaplab {

struct CalibrationOptions {
  uint64_t most_bytes = 2ull << 30;  // of one piece of memory
  uint32_t most_chunks = 1024;
  uint32_t repetitions = 20;
};

struct Calibrated {
  std::vector<CalibrationPoint> calls;     // CPU time
  std::vector<CalibrationPoint> copy_gpu;  // GPU time of one copy, by size
};

// Uses the backend alone; everything that it takes is given back. `say` hears about progress, one line each.
Result<Calibrated> MeasureCalls(Backend& backend, const CalibrationOptions& options,
                                const std::function<void(std::string_view)>& say);

// Fits every kind and fills a profile in. Errors as FitKind's: a bad fit makes no profile, and says which kind it was.
Result<CostProfile> ProfileFrom(const Calibrated& calibrated, const BackendInfo& info);

}  // namespace remaplab
