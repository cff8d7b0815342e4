// remaplab trace convert: the same run in another file, by default only compressed otherwise.
#include <fmt/format.h>

#include "replay/cli/table.h"
#include "replay/cli/trace_verbs.h"
#include "traces/allocator/reallocate.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab::cli {
namespace {

// What another allocator changes, per program. Sets are different complete sets of bindings (of slots above 64 KiB:
// large); steps in 2 sets are those that two mapped sets would serve without a remap.
Table ReallocationTable(const ReallocationReport& report) {
  Table table{{"program", "module", "steps", "allocator", "changed_slot_steps", "runs", "changed_steps", "sets",
               "steps_in_2_sets", "large_sets", "large_steps_in_2_sets"},
              {}};
  for (const ReallocationReport::Program& program : report.programs) {
    const auto row = [&](std::string_view allocator, const BindingStatistics& statistics) {
      table.rows.push_back({program.id, program.module, program.steps, allocator, statistics.changed_slot_steps,
                            statistics.runs, statistics.changed_steps, statistics.all.distinct,
                            statistics.all.steps_in_cached[1], statistics.large.distinct,
                            statistics.large.steps_in_cached[1]});
    };
    row("recorded", program.before);
    row(Name(report.policy), program.after);
  }
  return table;
}

}  // namespace

Result<int> TraceConvertVerb(const std::string& path, const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  if (!arguments.Has("output")) {
    return Fail(ErrorCode::kUsage, "convert: -o FILE is missing");
  }
  const std::string& output = arguments.Get("output");
  AllocatorPolicy policy = AllocatorPolicy::kRecorded;
  if (arguments.Has("allocator")) {
    REMAPLAB_ASSIGN(policy, ParseAllocatorPolicy(arguments.Get("allocator")));
  }
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  if (policy == AllocatorPolicy::kRecorded) {
    REMAPLAB_TRY(WriteTrace(trace, output));
    return kOk;
  }
  const ReallocatedTrace result = ReallocateTrace(trace, policy);
  REMAPLAB_TRY(WriteTrace(result.trace, output));
  std::string text = ReallocationTable(result.report).Render(format);
  if (format == Format::kTable) {
    fmt::format_to(std::back_inserter(text), "memory that the allocator takes, at most: {} recorded, {} {}\n",
                   HumanBytes(result.report.peak_bytes_before), HumanBytes(result.report.peak_bytes_after),
                   Name(policy));
  }
  REMAPLAB_TRY(Print(text));
  return kOk;
}

}  // namespace remaplab::cli
