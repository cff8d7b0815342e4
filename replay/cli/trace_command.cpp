// remaplab trace: looks into recordings, checks, converts and makes them.
#include <fmt/format.h>

#include "replay/cli/commands.h"
#include "replay/cli/trace_verbs.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("format,f", po::value<std::string>()->default_value("table"), "table, json or csv");
  add("program,p", po::value<std::string>(), "info, print: only this program, by id or module");
  add("granularity", po::value<std::string>(),
      "info: what sizes are rounded to; default: what the trace says. generate: what the vmm allocator rounds to; "
      "default: "
      "2MiB");
  add("output,o", po::value<std::string>(), "generate, convert: the file to write; compressed when it ends in .zst");
  add("allocator", po::value<std::string>(),
      "generate: vmm (default), bfc, arena, or a policy. convert: decide addresses anew by a policy: fifo, smallest, "
      "best_fit, id_stable, arena, bfc");
  DeclareGenerateOptions(add);
}

struct Verb {
  std::string_view name;
  Result<int> (*run)(const std::string& path, const Arguments& arguments);
};
constexpr Verb kVerbs[] = {
    {"info", TraceInfoVerb}, {"print", TracePrintVerb}, {"validate", TraceValidateVerb}, {"convert", TraceConvertVerb}};

Result<int> Run(const Arguments& arguments) {
  const std::string& name = arguments.positional[0];
  if (name == "generate") {
    if (arguments.positional.size() > 1) {
      return Fail(ErrorCode::kUsage, "generate: takes no FILE; -o names the one to write");
    }
    return TraceGenerateVerb(arguments);
  }
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) {
      continue;
    }
    if (arguments.positional.size() < 2) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: FILE is missing", name));
    }
    return verb.run(arguments.positional[1], arguments);
  }
  return Fail(ErrorCode::kUsage, fmt::format("'{}' is not one of info, print, validate, convert, generate", name));
}

}  // namespace

const Command kTraceCommand = {
    "trace",
    "look into traces, check, convert and make them",
    "info|print|validate|convert|generate [FILE]",
    "  remaplab trace info run.remaptrace.zst --program jit_step_fn\n"
    "      what the program's slots are and how they move; FILE may be - for standard input\n"
    "  remaplab trace print run.remaptrace.zst | less\n"
    "      one line per event\n"
    "  remaplab trace validate run.remaptrace.zst\n"
    "      exit code 0, or 2 with file, line and event of the first thing that is wrong\n"
    "  remaplab trace generate -o big.remaptrace.zst --model llama3-405b --shards 64 --scan --steps 100\n"
    "      a training run that nobody ran, from the model's shape\n"
    "  remaplab trace convert run.remaptrace.zst --allocator id_stable -o stable.remaptrace.zst\n"
    "      the same run under another allocator; without --allocator only the compression changes",
    Declare,
    Run,
};

}  // namespace remaplab::cli
