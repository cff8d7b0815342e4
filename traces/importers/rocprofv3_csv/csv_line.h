// One line of CSV (RFC 4180) into its fields. Fields of several lines do not occur in what rocprofv3 writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab::calls {

// `fields` is reused. Error kInput for quotes that do not fit.
Status SplitCsvLine(std::string_view line, std::vector<std::string>& fields);

}  // namespace remaplab::calls
