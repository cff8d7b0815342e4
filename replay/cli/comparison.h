// What compare and gate share: which runs are on which side, and how the outcome is shown.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare.h"
#include "base/result.h"
#include "replay/cli/command.h"
#include "replay/cli/table.h"

namespace remaplab::cli {

void DeclareSides(po::options_description_easy_init& add);

struct Sides {
  std::string base_path;
  std::string cand_path;  // the same when one store holds both sides
  Comparison comparison;
};

// Opens the stores read-only, selects, pairs and judges. Error kUsage when a selection matches nothing, or when one
// store is to be compared with itself without saying which of its runs.
Result<Sides> CompareSides(const Arguments& arguments);

// "regression", or what else the exit code says.
std::string_view OutcomeName(int exit_code);

// Table and Markdown show what changed (everything with `all`), JSON and CSV always show everything.
std::string RenderComparison(const Comparison& comparison, int exit_code, Format format, bool all);

}  // namespace remaplab::cli
