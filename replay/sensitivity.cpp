#include "replay/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/profiles/cost_profile.h"
#include "replay/run_report.h"

namespace remaplab {
namespace {

// Half of a term, as ApplyWhatIf reads it: a factor counts from 1, a time has picoseconds.
std::string Halved(const NamedTerm& term) {
  if (term.term == CostTerm::kContendedFactor) {
    const int64_t thousandths = kFactorOne + (term.value.value - kFactorOne) / 2;
    return fmt::format("{}={}.{:03}", term.name, thousandths / kFactorOne, thousandths % kFactorOne);
  }
  const int64_t half = term.value.value / 2;
  return fmt::format("{}={}.{:03}ns", term.name, half / 1000, half % 1000);
}

Result<int64_t> MeanStep(const Trace& trace, const ProgramSteps& program, std::string_view strategy,
                         const ReplayOptions& options) {
  REMAPLAB_ASSIGN(const ProgramRun run, ReplayProgram(trace, program, strategy, options, nullptr));
  return PerStep(run.summary.step_ns.total, run);
}

}  // namespace

Result<std::vector<TermSaving>> RankTerms(const Trace& trace, const ProgramSteps& program, std::string_view strategy,
                                          const ReplayOptions& options) {
  ReplayOptions plain = options;
  plain.backend_options.timeline = nullptr;
  REMAPLAB_ASSIGN(const CostProfile profile,
                  LoadCostProfile(plain.backend_options.cost_profile, plain.backend_options.what_if));
  REMAPLAB_ASSIGN(const int64_t base, MeanStep(trace, program, strategy, plain));
  std::vector<TermSaving> savings;
  for (const NamedTerm& term : NonZeroTerms(profile)) {
    ReplayOptions changed = plain;
    changed.backend_options.what_if.push_back(Halved(term));
    REMAPLAB_ASSIGN(const int64_t with_half, MeanStep(trace, program, strategy, changed));
    if (with_half < base) {
      savings.push_back({term.name, base - with_half});
    }
  }
  std::stable_sort(savings.begin(), savings.end(),
                   [](const TermSaving& a, const TermSaving& b) { return a.saved_per_step_ns > b.saved_per_step_ns; });
  return savings;
}

}  // namespace remaplab
