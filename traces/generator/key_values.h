// "a=1,b,c=2" as pairs, for options that hold several values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab {

struct KeyValue {
  std::string key;
  std::string value;  // empty for a key alone
};

// kUsage, starting with `what`, for empty parts and for keys that are there twice. Empty text: no pairs.
Result<std::vector<KeyValue>> ParseKeyValues(std::string_view text, std::string_view what);

}  // namespace remaplab
