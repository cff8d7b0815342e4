// What a store has of the sweeps that it holds runs of, and what is missing. A sweep leaves its plan in the campaign's
// row, as JSON of which this reads two members: "shards", a number, and "cells", a list of [key, shard] over the whole
// sweep, whatever part of it this store has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/store.h"
#include "base/result.h"

namespace remaplab {

struct CampaignState {
  std::string uuid;
  std::string name;  // as the plan calls it; may be empty
  uint64_t cells = 0;
  uint64_t finished = 0;   // cells with at least one finished run
  uint64_t duplicate = 0;  // cells with more than one
  uint32_t shards = 1;
  struct Shard {
    uint32_t index = 0;
    uint64_t cells = 0;
    uint64_t missing = 0;    // without a finished run
    uint64_t duplicate = 0;  // with more than one
  };
  std::vector<Shard> wrong;  // shards with something missing or duplicate, ascending

  bool complete() const { return finished == cells; }
};

// Campaigns without a list of cells are left out.
Result<std::vector<CampaignState>> ReadCampaigns(Store& store);

// One line per campaign and one per shard with something wrong, for people.
std::string CampaignsToText(const std::vector<CampaignState>& campaigns);

}  // namespace remaplab
