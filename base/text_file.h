// Small files that are read as a whole: plans, profiles, recipes. Traces and logs have a reader of their own that
// streams (traces/byte_source.h).
#pragma once

#include <string>

#include "base/result.h"

namespace remaplab {

// Error kIo naming the file; a folder is no file.
Result<std::string> ReadTextFile(const std::string& path);

}  // namespace remaplab
