// Which XLA flags give a strategy, in which jaxlib: what a user can set today, and what no release has. The facts are
// those of XLA's sources at each release; docs/recommend.md has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab {

enum class XlaPlatform : uint8_t { kCuda, kRocm };
Result<XlaPlatform> ParseXlaPlatform(std::string_view text);  // "cuda", "rocm"
std::string_view Name(XlaPlatform platform);

struct XlaAvailability {
  std::string_view releases;  // "0.10.0 to 0.10.2"
  bool available = false;
  std::string flags;  // for XLA_FLAGS; empty when nothing needs to be set, or when not available
  std::string note;   // why not, or in what XLA's variant differs; may be empty
};

// One row per range of releases, oldest first; the last row is the build of ROCm/xla pull request 1001. `strategy` is
// canonical text, `resolved` what its `auto` parameters became.
std::vector<XlaAvailability> XlaFlagsFor(std::string_view strategy, std::string_view resolved, XlaPlatform platform);

// The row for one jaxlib version, e.g. "0.11.2", or "pr1001". Error kUsage when the text is neither.
Result<size_t> XlaRowOf(std::string_view jaxlib);

}  // namespace remaplab
