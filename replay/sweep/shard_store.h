// A shard's store while it is written and afterwards. SQLite must not write over a network file system, so a shard is
// written on the node's own disk and moved beside the others when it is closed; until then whoever merges sees either
// nothing or the shard as it was left last time.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "replay/sweep/plan.h"

namespace remaplab {

struct ShardStore {
  std::string final_path;    // "results.shard-03-of-16.sqlite" for a store "results.sqlite"
  std::string working_path;  // in the scratch folder; the same for every try, so that a killed one can be continued
};

// `scratch` empty: beside the final path.
ShardStore PlaceShardStore(const std::string& store, const Shard& shard, const std::string& scratch,
                           const std::string& campaign_uuid);

// Makes the working file continue the best of what an earlier try left, which may be nothing. Errors: kIo; kInput when
// what is there is no store.
Status PrepareShardStore(const ShardStore& place, std::span<const SweepCell> cells);

// After the store has been closed: from the working to the final path, so that the final one is never half there.
Status MoveIntoPlace(const ShardStore& place);

}  // namespace remaplab
