// What capture says on standard error when it is done.
#pragma once

#include <string>

#include "traces/importers/report.h"

namespace remaplab::cli {

void PrintReport(const std::string& output, const ImportReport& report);

}  // namespace remaplab::cli
