// Ctrl-C and SIGTERM as a flag that long work looks at between steps; a second signal ends the process at once.
#pragma once

#include <atomic>

namespace remaplab::cli {

// Installs the handlers on the first call.
const std::atomic<bool>& InterruptFlag();

}  // namespace remaplab::cli
