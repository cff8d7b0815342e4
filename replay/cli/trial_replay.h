// Replays a trace under every strategy that its programs allow, on the simulator, into a store that vanishes
// afterwards: what `recommend TRACE` advises from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/replayer.h"

namespace remaplab::cli {

// A directory of its own that goes away with the object.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> Make();
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct TrialOptions {
  ReplayOptions replay;
  std::vector<std::string> strategies;  // empty: all that there are
  std::string program;                  // empty: all
  std::string command_line;
};

// Writes one run per program and strategy into the store at `store_path`. Strategies of the default list that a program
// cannot have (no temp slot, say) are left out with a warning; a named one is an error.
Status RunTrials(const std::string& trace_path, const TrialOptions& options, const std::string& store_path);

}  // namespace remaplab::cli
