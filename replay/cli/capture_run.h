// remaplab capture -- COMMAND: runs a command with XLA's log variables set and reads its log as it streams.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "traces/importers/xla/log_importer.h"

namespace remaplab::cli {

// The exit code: the command's own when it is not 0, else ours. What the command prints is passed on byte for byte;
// steps that were seen before it died, or before somebody interrupted it, are in the trace.
Result<int> CaptureRun(xla::XlaLogOptions options, const std::string& output, const std::vector<std::string>& command);

}  // namespace remaplab::cli
