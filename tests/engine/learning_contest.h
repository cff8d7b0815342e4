// Strategies that learn, against those that are fixed, over the steps after the tenth: what a program's replay takes
// with each, and how far the learners are from the best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/strategies/rehearsal.h"
#include "replay/oracle_bound.h"
#include "replay/replayer.h"

namespace remaplab {

struct Contest {
  int64_t best_threshold = std::numeric_limits<int64_t>::max();  // skip_remap+copy_shadow, any threshold, off included
  int64_t best_fixed = std::numeric_limits<int64_t>::max();      // of all strategies that adaptive is to match
  std::string best_threshold_name;
  std::string best_fixed_name;
  ProgramRun auto_threshold;
  ProgramRun adaptive;
  // What learning cost: steps 2 to 10, less as many of the steps that came after.
  int64_t auto_learning = 0;
  int64_t adaptive_learning = 0;
  int64_t oracle = 0;

  double AutoRatio() const { return Ratio(auto_threshold.summary.step_ns.total, best_threshold); }
  double AdaptiveRatio() const { return Ratio(adaptive.summary.step_ns.total, best_fixed); }

 private:
  static double Ratio(int64_t ns, int64_t best) {
    return best == 0 ? (ns == 0 ? 1 : std::numeric_limits<double>::infinity())
                     : static_cast<double>(ns) / static_cast<double>(best);
  }
};

inline constexpr uint64_t kLearningSteps = 10;

// `base` is what copy_shadow stands on, "skip_remap" unless asked otherwise.
inline Result<Contest> HoldContest(const Trace& trace, const ProgramSteps& program, ReplayOptions options,
                                   const std::string& base = "skip_remap") {
  options.warmup = kLearningSteps;
  Contest contest;
  const auto play = [&](const std::string& strategy) {
    return ReplayProgram(trace, program, strategy, options, nullptr);
  };
  const auto consider = [](const std::string& name, int64_t ns, int64_t& best, std::string& best_name) {
    if (ns < best) {
      best = ns;
      best_name = name;
    }
  };
  // Every size that occurs is a threshold of its own; none in between makes a difference.
  std::vector<std::string> thresholds = {base};
  std::vector<uint64_t> sizes;
  for (const ProgramEvent& event : program.events) {
    if (event.type == ProgramEvent::Type::kDeclare) {
      for (const TraceSlot& slot : trace.programs[event.ref].slots) {
        sizes.push_back(slot.size);
      }
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const uint64_t size : sizes) {
    thresholds.push_back(base + "+copy_shadow(threshold=" + std::to_string(size) + ")");
  }
  for (const std::string& strategy : thresholds) {
    REMAPLAB_ASSIGN(const ProgramRun run, play(strategy));
    consider(strategy, run.summary.step_ns.total, contest.best_threshold, contest.best_threshold_name);
  }
  contest.best_fixed = contest.best_threshold;
  contest.best_fixed_name = contest.best_threshold_name;
  for (const char* strategy : {"skip_remap", "no_remap", "skip_temp", "skip_profiled"}) {
    REMAPLAB_ASSIGN(const ProgramRun run, play(strategy));
    consider(strategy, run.summary.step_ns.total, contest.best_fixed, contest.best_fixed_name);
  }
  REMAPLAB_ASSIGN(contest.auto_threshold, play(base + "+copy_shadow(threshold=auto)"));
  REMAPLAB_ASSIGN(contest.adaptive, play("adaptive"));
  const auto learning_cost = [&](const std::string& strategy, const ProgramRun& after) -> Result<int64_t> {
    ReplayOptions from_the_start = options;
    from_the_start.warmup = 1;
    REMAPLAB_ASSIGN(const ProgramRun run, ReplayProgram(trace, program, strategy, from_the_start, nullptr));
    const DurationSummary& later = after.summary.step_ns;
    return run.summary.step_ns.total - later.total - static_cast<int64_t>(kLearningSteps - 1) * later.median;
  };
  REMAPLAB_ASSIGN(contest.auto_learning, learning_cost(base + "+copy_shadow(threshold=auto)", contest.auto_threshold));
  REMAPLAB_ASSIGN(contest.adaptive_learning, learning_cost("adaptive", contest.adaptive));
  REMAPLAB_ASSIGN(const OracleBound bound, ComputeOracleBound(trace, program, options));
  contest.oracle = bound.total_ns;
  return contest;
}

}  // namespace remaplab
