// remaplab trace: looks into recordings.
#include <fmt/format.h>

#include "replay/cli/commands.h"
#include "replay/cli/trace_verbs.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("format,f", po::value<std::string>()->default_value("table"), "table, json or csv");
  add("program,p", po::value<std::string>(), "info, print: only this program, by id or module");
  add("granularity", po::value<std::string>(), "info: what sizes are rounded to; default: what the trace says");
}

struct Verb {
  std::string_view name;
  Result<int> (*run)(const std::string& path, const Arguments& arguments);
};
constexpr Verb kVerbs[] = {{"info", TraceInfoVerb}, {"print", TracePrintVerb}, {"validate", TraceValidateVerb}};

Result<int> Run(const Arguments& arguments) {
  const std::string& name = arguments.positional[0];
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) {
      continue;
    }
    if (arguments.positional.size() < 2) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: FILE is missing", name));
    }
    return verb.run(arguments.positional[1], arguments);
  }
  return Fail(ErrorCode::kUsage, fmt::format("'{}' is not one of info, print, validate", name));
}

}  // namespace

const Command kTraceCommand = {
    "trace",
    "info, print and validate recorded traces",
    "info|print|validate [FILE]",
    "  remaplab trace info run.remaptrace.zst --program jit_step_fn\n"
    "      what the program's slots are and how they move; FILE may be - for standard input\n"
    "  remaplab trace print run.remaptrace.zst | less\n"
    "      one line per event\n"
    "  remaplab trace validate run.remaptrace.zst\n"
    "      exit code 0, or 2 with file, line and event of the first thing that is wrong",
    Declare,
    Run,
};

}  // namespace remaplab::cli
