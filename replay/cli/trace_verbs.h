// What `remaplab trace` can do, one function per verb, each in a file of its own.
#pragma once

#include "replay/cli/command.h"

namespace remaplab::cli {

Result<int> TraceInfoVerb(const std::string& path, const Arguments& arguments);
Result<int> TracePrintVerb(const std::string& path, const Arguments& arguments);
Result<int> TraceValidateVerb(const std::string& path, const Arguments& arguments);
Result<int> TraceConvertVerb(const std::string& path, const Arguments& arguments);

void DeclareGenerateOptions(po::options_description_easy_init& add);
Result<int> TraceGenerateVerb(const Arguments& arguments);

}  // namespace remaplab::cli
