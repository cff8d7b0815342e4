// The options that every command that replays has: backend, profiles, sizes, time, checks.
#pragma once

#include "base/result.h"
#include "replay/cli/command.h"
#include "replay/replayer.h"

namespace remaplab::cli {

void DeclareReplayOptions(po::options_description_easy_init& add);
// Errors are kUsage and name the option. Interrupts stop the replay between two steps.
Result<ReplayOptions> ReadReplayOptions(const Arguments& arguments);

}  // namespace remaplab::cli
