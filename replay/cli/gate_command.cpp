// remaplab gate: compare with a verdict as exit code, for CI, and a baseline that moves only on purpose.
#include <fmt/format.h>

#include <cstdio>

#include "analysis/merge.h"
#include "replay/cli/commands.h"
#include "replay/cli/comparison.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  DeclareSides(add);
  add("accept", po::value<std::string>(), "make CAND's runs the baseline in BASE, and say why: exit code 0");
  add("allow-unpaired", po::bool_switch(), "runs that only one side has are no reason for exit code 4");
  add("fail-ambiguous", po::bool_switch(), "exit code 1 where it would be 3");
}

std::vector<std::string> CandidateUuids(const Comparison& comparison) {
  std::vector<std::string> uuids;
  for (const PairComparison& pair : comparison.pairs) {
    for (const RunRecord& run : pair.cand) {
      uuids.push_back(run.uuid);
    }
  }
  return uuids;
}

Status Accept(const Sides& sides, const std::string& reason) {
  if (reason.find_first_not_of(" \t\n") == std::string::npos) {
    return Fail(ErrorCode::kUsage, "--accept needs a reason: it is kept with the baseline");
  }
  if (sides.comparison.pairs.empty()) {
    return Fail(ErrorCode::kUsage, "--accept: nothing pairs, so there is nothing to accept");
  }
  const std::vector<std::string> uuids = CandidateUuids(sides.comparison);
  if (sides.base_path != sides.cand_path) {
    const std::string sources[] = {sides.cand_path};
    REMAPLAB_ASSIGN(const std::vector<MergedFile> merged, MergeStores(sides.base_path, sources, {.runs = uuids}));
    (void)merged;
  }
  REMAPLAB_ASSIGN(Store base, Store::OpenForWriting(sides.base_path));
  REMAPLAB_TRY(AcceptRuns(base, uuids, reason));
  return base.Close();
}

Status Record(const Sides& sides, const std::string& command_line) {
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(sides.cand_path));
  REMAPLAB_TRY(StoreVerdicts(store, sides.comparison, command_line));
  return store.Close();
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const Sides sides, CompareSides(arguments));
  int exit_code = GateExitCode(sides.comparison, arguments.On("allow-unpaired"));
  if (exit_code == kAmbiguous && arguments.On("fail-ambiguous")) {
    exit_code = kCheckFailed;
  }
  if (const Status recorded = Record(sides, arguments.command_line); !recorded) {
    Warn(fmt::format("the verdicts are not stored: {}", recorded.error().message()));
  }
  REMAPLAB_TRY(Print(RenderComparison(sides.comparison, exit_code, format, arguments.On("all"))));
  if (arguments.Has("accept")) {
    REMAPLAB_TRY(Accept(sides, arguments.Get("accept")));
    fmt::print(stderr, "the baseline in {} is now {} of these runs\n", sides.base_path,
               CandidateUuids(sides.comparison).size());
    return kOk;
  }
  if (exit_code == kOk && sides.comparison.Count(VerdictResult::kImprovement) > 0) {
    fmt::print(stderr, "improved; the baseline stays where it is until --accept \"why\" moves it\n");
  }
  return exit_code;
}

}  // namespace

const Command kGateCommand = {
    .name = "gate",
    .summary = "compare, with a verdict as exit code for CI",
    .positional = "BASE [CAND]",
    .example =
        "  remaplab gate baseline.sqlite results.sqlite\n"
        "  exit code 0 pass or improvement, 1 regression, 3 ambiguous (run more pairs), 4 invalid comparison\n"
        "  remaplab gate baseline.sqlite results.sqlite --accept 'one more map per step buys partial unmap'\n"
        "  the candidate's runs become the baseline",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
