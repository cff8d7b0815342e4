// How strategies that learn do against those that are fixed: a table over cost profiles and traces, of the steps after
// the tenth. Arguments: trace files; profiles are all built-in ones.
//
//   remaplab_learning_table run.remaptrace.zst ...
#include <fmt/format.h>

#include <cstdio>

#include "backends/profiles/cost_profile.h"
#include "tests/engine/learning_contest.h"
#include "traces/reader.h"

namespace remaplab {
namespace {

Status PrintRow(const Trace& trace, const ProgramSteps& program, const std::string& profile,
                std::optional<int64_t> gpu_step_ns) {
  ReplayOptions options;
  options.backend_options.cost_profile = profile;
  options.gpu_step_ns = gpu_step_ns;
  REMAPLAB_ASSIGN(const Contest contest, HoldContest(trace, program, options));
  const auto us_per_step = [&](int64_t total) {
    return static_cast<double>(total) / 1000 / static_cast<double>(program.steps - kLearningSteps);
  };
  fmt::print("{:24.24} {:8} {:>12.1f} {:>12.1f} {:6.3f} {:>12.1f} {:>12.1f} {:6.3f} {:>12.1f}  {:<44} {}\n",
             program.module, gpu_step_ns ? "0" : "trace's", us_per_step(contest.oracle),
             us_per_step(contest.auto_threshold.summary.step_ns.total), contest.AutoRatio(),
             static_cast<double>(contest.auto_learning) / 1000, us_per_step(contest.adaptive.summary.step_ns.total),
             contest.AdaptiveRatio(), static_cast<double>(contest.adaptive_learning) / 1000, contest.best_fixed_name,
             contest.adaptive.summary.resolved);
  return {};
}

Status PrintTable(const std::string& path) {
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  for (const CostProfile& profile : BuiltinCostProfiles()) {
    fmt::print("\n{}, cost profile {} ({}); us per step, learning in us\n", path, profile.name, profile.quality);
    fmt::print("{:24} {:8} {:>12} {:>12} {:6} {:>12} {:>12} {:6} {:>12}  {:<44} {}\n", "program", "gpu step", "oracle",
               "auto", "/best", "learning", "adaptive", "/best", "learning", "best fixed strategy", "adaptive chose");
    for (const ProgramSteps& program : SplitPrograms(trace)) {
      if (program.steps > kLearningSteps) {
        REMAPLAB_TRY(PrintRow(trace, program, profile.name, std::nullopt));
        REMAPLAB_TRY(PrintRow(trace, program, profile.name, 0));
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace remaplab

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (const remaplab::Status printed = remaplab::PrintTable(argv[i]); !printed) {
      fmt::print(stderr, "{}\n", printed.error().message());
      return 2;
    }
  }
  return 0;
}
