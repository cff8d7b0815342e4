#include "replay/cli/commands.h"

namespace remaplab::cli {

std::span<const Command* const> Commands() {
  static constexpr const Command* kCommands[] = {
      &kCaptureCommand, &kTraceCommand,     &kReplayCommand, &kRecommendCommand, &kCallsCommand,
      &kSweepCommand,   &kCalibrateCommand, &kMergeCommand,  &kCompareCommand,   &kGateCommand,
      &kHistoryCommand, &kQueryCommand,     &kListCommand,
  };
  return kCommands;
}

}  // namespace remaplab::cli
