// remaplab compare: two sets of runs, metric by metric.
#include "replay/cli/commands.h"
#include "replay/cli/comparison.h"

namespace remaplab::cli {
namespace {

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const Sides sides, CompareSides(arguments));
  constexpr bool kAllowUnpaired = true;
  const int outcome = GateExitCode(sides.comparison, kAllowUnpaired);
  REMAPLAB_TRY(Print(RenderComparison(sides.comparison, outcome, format, arguments.On("all"))));
  return sides.comparison.pairs.empty() ? kInvalidComparison : kOk;
}

}  // namespace

const Command kCompareCommand = {
    .name = "compare",
    .summary = "two sets of runs: exact for counts and simulated time, statistical for measured time",
    .positional = "BASE [CAND]",
    .example =
        "  remaplab compare before.sqlite after.sqlite\n"
        "  what changed between two stores, for each trace, strategy, backend and profile that both have\n"
        "  remaplab compare results.sqlite --base-strategy full_remap --cand-strategy skip_remap --all\n"
        "  two strategies of one store",
    .declare = DeclareSides,
    .run = Run,
};

}  // namespace remaplab::cli
