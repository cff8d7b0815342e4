#include "replay/cli/commands.h"

#include <array>

namespace remaplab::cli {

std::span<const Command* const> Commands() {
  static constexpr std::array<const Command*, 5> kCommands = {&kCaptureCommand, &kTraceCommand, &kReplayCommand, &kQueryCommand,
                                                              &kListCommand};
  return kCommands;
}

}  // namespace remaplab::cli
