#include "analysis/campaign.h"

#include <fmt/format.h>

#include "analysis/sqlite.h"

namespace remaplab {
namespace {

constexpr std::string_view kCampaigns =
    "SELECT id, uuid, coalesce(plan ->> 'name', ''), coalesce(plan ->> 'shards', 1) FROM campaign "
    "WHERE json_valid(plan) AND json_type(plan, '$.cells') = 'array' ORDER BY id";

// Per shard: cells, those without and those with more than one finished run.
constexpr std::string_view kShards =
    "SELECT cell.value ->> 1 AS shard, count(*), sum(coalesce(done.runs, 0) = 0), sum(coalesce(done.runs, 0) > 1) "
    "FROM campaign, json_each(campaign.plan, '$.cells') AS cell "
    "LEFT JOIN (SELECT cell, count(*) AS runs FROM run WHERE campaign = ?1 AND status = 'finished' GROUP BY cell) AS "
    "done "
    "ON done.cell = cell.value ->> 0 "
    "WHERE campaign.id = ?1 GROUP BY shard ORDER BY shard";

}  // namespace

Result<std::vector<CampaignState>> ReadCampaigns(Store& store) {
  std::vector<CampaignState> campaigns;
  REMAPLAB_ASSIGN(Statement campaign, store.database().Prepare(kCampaigns));
  REMAPLAB_ASSIGN(Statement shards, store.database().Prepare(kShards));
  while (true) {
    REMAPLAB_ASSIGN(const bool row, campaign.Step());
    if (!row) {
      return campaigns;
    }
    CampaignState& state = campaigns.emplace_back();
    state.uuid = campaign.Text(1);
    state.name = campaign.Text(2);
    state.shards = static_cast<uint32_t>(campaign.Int(3));
    shards.Bind(1, campaign.Int(0));
    while (true) {
      REMAPLAB_ASSIGN(const bool more, shards.Step());
      if (!more) {
        break;
      }
      const CampaignState::Shard shard{.index = static_cast<uint32_t>(shards.Int(0)),
                                       .cells = static_cast<uint64_t>(shards.Int(1)),
                                       .missing = static_cast<uint64_t>(shards.Int(2)),
                                       .duplicate = static_cast<uint64_t>(shards.Int(3))};
      state.cells += shard.cells;
      state.finished += shard.cells - shard.missing;
      state.duplicate += shard.duplicate;
      if (shard.missing > 0 || shard.duplicate > 0) {
        state.wrong.push_back(shard);
      }
    }
  }
}

std::string CampaignsToText(const std::vector<CampaignState>& campaigns) {
  std::string text;
  for (const CampaignState& campaign : campaigns) {
    text += fmt::format("sweep {}{}{}: {} of {} cells", campaign.name, campaign.name.empty() ? "" : " ",
                        campaign.uuid.substr(0, 8), campaign.finished, campaign.cells);
    text += campaign.duplicate == 0 ? "\n" : fmt::format(", {} of them more than once\n", campaign.duplicate);
    for (const CampaignState::Shard& shard : campaign.wrong) {
      const char* what = shard.missing == shard.cells ? "missing" : shard.missing > 0 ? "incomplete" : "duplicate";
      text += fmt::format("  shard {}/{} {}: {} of {} cells missing, {} more than once\n", shard.index, campaign.shards,
                          what, shard.missing, shard.cells, shard.duplicate);
    }
  }
  return text;
}

}  // namespace remaplab
