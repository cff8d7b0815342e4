// The spelling of strategies: terms joined by '+', each a name with optional parameters in parentheses:
// "skip_remap(identity=address)+copy_shadow(threshold=65536)". White space around any part is allowed and dropped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace remaplab {

struct StrategyTerm {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;  // in the order given
};

// Error kUsage, naming the place in the text. Names are not checked here.
Result<std::vector<StrategyTerm>> ParseStrategyText(std::string_view text);

// The canonical text: no white space, parameters as the user gave them.
std::string StrategyTextOf(const std::vector<StrategyTerm>& terms);

}  // namespace remaplab
