// The subcommands, one line each; commands.cpp puts them in the order in which --help shows them.
#pragma once

#include "replay/cli/command.h"

namespace remaplab::cli {

extern const Command kCalibrateCommand;
extern const Command kCallsCommand;
extern const Command kCaptureCommand;
extern const Command kCompareCommand;
extern const Command kGateCommand;
extern const Command kHistoryCommand;
extern const Command kListCommand;
extern const Command kMergeCommand;
extern const Command kQueryCommand;
extern const Command kRecommendCommand;
extern const Command kReplayCommand;
extern const Command kSweepCommand;
extern const Command kTraceCommand;

}  // namespace remaplab::cli
