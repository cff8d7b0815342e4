// From runs to advice: which strategy is the best that is safe, what it saves per step and how sure that is, what it
// costs in memory, and which XLA flags give it.
//
// Safe means that the run proved it: no failed step, no stale mapping, no failed verification, no skip that rests on an
// assumption, and no comparison of addresses instead of memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/run_record.h"
#include "analysis/xla_flags.h"
#include "base/result.h"

namespace remaplab {

struct RecommendOptions {
  std::optional<uint64_t> memory_budget;  // for shadow_bytes + retained_bytes
  XlaPlatform platform = XlaPlatform::kCuda;
  std::optional<size_t> xla_row;  // of XlaRowOf; empty: all releases are shown
  uint64_t seed = 1;
};

// Root mean square of the relative residuals by kind of call, per cost profile (its params).
using ProfileErrors = std::map<std::string, std::map<std::string, double>>;
Result<ProfileErrors> LoadProfileErrors(Store& store);

struct Saving {
  double ns = 0;  // per step; negative: it costs more
  // Half the width of the range, when something is known about it: 99 % interval of measured runs, or the residuals of
  // the cost profile on the calls that differ.
  std::optional<double> uncertainty;
  std::string basis;  // what the uncertainty is, or why there is none
};

struct StrategyAssessment {
  RunRecord run;  // the latest of its runs
  size_t runs = 0;
  double step_ns = 0;  // mean per counted step; median over process runs when measured
  std::string unsafe;  // why; empty: safe
  bool within_budget = true;
  Saving saving_of_best;  // what the recommended strategy saves against this one
  uint64_t extra_bytes() const { return static_cast<uint64_t>(run.shadow_bytes + run.retained_bytes); }
};

struct Recommendation {
  std::string what;                            // trace, module, backend, profiles
  std::vector<StrategyAssessment> strategies;  // fastest first
  std::optional<size_t> best;                  // into strategies; empty: none is safe and within the budget
  size_t reference =
      0;  // what the saving is told against: no_remap (XLA's default) if it was run, else full_remap, else the slowest
  std::optional<double> oracle_step_ns;
  std::vector<XlaAvailability> flags;    // of the best
  std::optional<size_t> best_available;  // the best one that the given jaxlib has
  std::vector<XlaAvailability> available_flags;
  std::vector<std::string> caveats;
  std::string headline;  // the answer in one sentence
};

// One per configuration, in the order of their first runs.
std::vector<Recommendation> Recommend(std::span<const RunRecord> runs, const ProfileErrors& errors,
                                      const RecommendOptions& options);

}  // namespace remaplab
