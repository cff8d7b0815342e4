#include "replay/cli/commands.h"

#include <array>

namespace remaplab::cli {

std::span<const Command* const> Commands() {
  static constexpr std::array<const Command*, 10> kCommands = {
      &kCaptureCommand, &kTraceCommand,   &kReplayCommand, &kCallsCommand, &kCompareCommand,
      &kGateCommand,    &kHistoryCommand, &kMergeCommand,  &kQueryCommand, &kListCommand};
  return kCommands;
}

}  // namespace remaplab::cli
