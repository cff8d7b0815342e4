// Brings the runs of several stores into one. A run is its uuid: known ones are left alone, so merging again changes
// nothing. All or nothing: whatever stops a merge, the target is as it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/store.h"
#include "base/result.h"

namespace remaplab {

struct MergedFile {
  std::string path;
  uint64_t added = 0;
  uint64_t known = 0;
  // Known by uuid, but with another status or result: left as the target has it.
  std::vector<std::string> conflicting;
};

struct MergeOptions {
  std::vector<std::string> runs;            // only these uuids; empty: all
  const std::atomic<bool>* stop = nullptr;  // set from outside: undo and return kInterrupted
};

// Reads one source at a time; `target` is made when it is not there. Error kUsage when the target is among the sources.
Result<std::vector<MergedFile>> MergeStores(const std::string& target, std::span<const std::string> sources,
                                            const MergeOptions& options);

}  // namespace remaplab
