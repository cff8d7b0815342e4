// remaplab merge: the runs of several stores in one.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/campaign.h"
#include "analysis/merge.h"
#include "replay/cli/commands.h"
#include "replay/cli/interrupt.h"
#include "replay/cli/table.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("format,f", po::value<std::string>()->default_value("table"), "table, json, csv or markdown");
  add("allow-incomplete", po::bool_switch(), "exit with 0 although cells of a sweep are missing");
}

// Whether every sweep that the store has runs of is whole. What is missing or there twice is said on standard error.
Result<bool> CheckCampaigns(const std::string& path) {
  REMAPLAB_ASSIGN(Store store, Store::OpenForReading(path));
  REMAPLAB_ASSIGN(const std::vector<CampaignState> campaigns, ReadCampaigns(store));
  fmt::print(stderr, "{}", CampaignsToText(campaigns));
  return std::all_of(campaigns.begin(), campaigns.end(), [](const CampaignState& state) { return state.complete(); });
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  const std::vector<std::string> sources(arguments.positional.begin() + 1, arguments.positional.end());
  REMAPLAB_ASSIGN(const std::vector<MergedFile> files,
                  MergeStores(arguments.positional[0], sources, {.runs = {}, .stop = &InterruptFlag()}));
  Table table{{"file", "new", "known", "conflicting"}, {}};
  bool conflict = false;
  for (const MergedFile& file : files) {
    table.rows.push_back({file.path, file.added, file.known, uint64_t{file.conflicting.size()}});
    for (const std::string& uuid : file.conflicting) {
      Warn(fmt::format("{}: run {} is in {} with another status or result, which stays", file.path, uuid,
                       arguments.positional[0]));
      conflict = true;
    }
  }
  REMAPLAB_TRY(Print(table.Render(format)));
  REMAPLAB_ASSIGN(const bool complete, CheckCampaigns(arguments.positional[0]));
  return conflict || (!complete && !arguments.On("allow-incomplete")) ? kCheckFailed : kOk;
}

}  // namespace

const Command kMergeCommand = {
    .name = "merge",
    .summary = "bring the runs of several stores into one; again changes nothing",
    .positional = "OUT IN...",
    .example =
        "  remaplab merge all.sqlite shards/*.sqlite\n"
        "  says which shards of a sweep are missing or there twice; exit code 1 when one is missing, or when a run is\n"
        "  known with another result; an interrupted merge leaves all.sqlite as it was",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
