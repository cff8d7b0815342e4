// remaplab trace info: what a trace holds.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/parse.h"
#include "replay/cli/table.h"
#include "replay/cli/trace_verbs.h"
#include "traces/inspector.h"
#include "traces/reader.h"

namespace remaplab::cli {
namespace {

std::string_view IdentityName(const Trace& trace) {
  return trace.end.identity == TraceIdentity::kBacking ? "backing" : "address";
}

uint64_t Events(const TraceSummary& info, TraceEventType type) { return info.events[static_cast<size_t>(type)]; }

std::string ListOf(const std::vector<ProgramSummary>& programs) {
  std::string list;
  for (const ProgramSummary& program : programs) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", program.id, program.module);
  }
  return list.empty() ? "none" : list;
}

// Keeps the programs that `wanted` names by id or module.
Status Narrow(TraceSummary& info, const std::string& wanted) {
  std::vector<ProgramSummary> kept;
  for (const ProgramSummary& program : info.programs) {
    if (program.module == wanted || std::to_string(program.id) == wanted) {
      kept.push_back(program);
    }
  }
  if (kept.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--program: no program '{}' in the trace; it has {}", wanted, ListOf(info.programs)));
  }
  info.programs = std::move(kept);
  return {};
}

// ---- table ----

std::string OverviewText(const std::string& path, const Trace& trace, const TraceSummary& info) {
  std::string text = fmt::format("{}: version {}, from {}, allocator {}, granularity {}\n", path, trace.header.version,
                                 trace.header.source.empty() ? "unknown" : trace.header.source,
                                 trace.header.allocator.empty() ? "unknown" : trace.header.allocator,
                                 trace.header.granularity == 0 ? "unknown" : std::to_string(trace.header.granularity));
  fmt::format_to(std::back_inserter(text), "xxh3 {}\n", trace.xxh3);
  using enum TraceEventType;
  fmt::format_to(
      std::back_inserter(text),
      "{} steps of {} programs; {} backings, {} allocs ({} of kept memory), {} frees and {} deferred frees\n",
      trace.steps(), info.programs.size(), info.backings, Events(info, kAlloc), info.reused_allocs, Events(info, kFree),
      Events(info, kDeferredFree));
  for (const TimingInfo& timing : info.timings) {
    fmt::format_to(std::back_inserter(text), "timing {}: {} events, {} in all, {} counted\n", timing.kind,
                   timing.events, HumanTime(timing.ns), timing.count);
  }
  fmt::format_to(std::back_inserter(text), "identity {}{}\n", IdentityName(trace),
                 trace.end.identity == TraceIdentity::kBacking
                     ? ""
                     : ": that re-issued addresses are the same memory is an assumption");
  fmt::format_to(std::back_inserter(text), "lost: {} events{}{}{}\n", trace.end.lost_events,
                 trace.end.counts_json == "{}" ? "" : " " + trace.end.counts_json,
                 trace.end.starts_mid_life ? "; starts in the middle of a run" : "",
                 trace.end.present ? "" : "; the file was cut off");
  if (info.unknown_addresses > 0) {
    fmt::format_to(std::back_inserter(text), "{} backings without a known address\n", info.unknown_addresses);
  }
  if (trace.skipped_events > 0) {
    fmt::format_to(std::back_inserter(text), "{} lines of unknown event types skipped\n", trace.skipped_events);
  }
  return text;
}

Table KindTable(const ProgramSummary& program) {
  Table table{{"kind", "size", "slots", "bytes", "changed"}, {}};
  for (size_t kind = 0; kind < kSlotKindCount; ++kind) {
    for (size_t i = 0; i < kSizeClasses.size(); ++i) {
      const SlotTally& tally = program.tally[kind][i];
      if (tally.slots > 0) {
        table.rows.push_back(
            {Name(static_cast<SlotKind>(kind)), kSizeClasses[i].name, tally.slots, tally.bytes, tally.changes});
      }
    }
  }
  return table;
}

Table MoverTable(const ProgramSummary& program) {
  Table table{{"slot", "kind", "size", "changed", "backings"}, {}};
  for (const SlotMovement& mover : program.movers) {
    table.rows.push_back(
        {mover.slot.index, Name(mover.slot.kind), mover.slot.size, mover.changes, mover.distinct_backings});
  }
  return table;
}

std::string ProgramText(const ProgramSummary& program) {
  std::string text =
      fmt::format("\nprogram {}: {} on device {}{}{}\n", program.id, program.module, program.device,
                  program.commands == 0 ? "" : fmt::format(", {} commands", program.commands),
                  program.declarations == 1 ? "" : fmt::format(", declared {} times", program.declarations));
  fmt::format_to(std::back_inserter(text), "{} slots, {} as recorded, {} mapped ({} bytes)\n", program.slots,
                 HumanBytes(program.bytes), HumanBytes(program.bytes_mapped), program.bytes_mapped);
  fmt::format_to(std::back_inserter(text), "{} steps", program.steps);
  if (program.duration_median != kUnknownTime) {
    fmt::format_to(std::back_inserter(text), ", median {}", HumanTime(program.duration_median));
  }
  fmt::format_to(std::back_inserter(text),
                 "; changed slots per step: min {}, median {}, max {}; {} changed slot-steps in {} runs on {} steps\n",
                 program.changed_min, program.changed_median, program.changed_max, program.changed_slot_steps,
                 program.runs, program.changed_steps);
  if (program.same_address_changes > 0) {
    fmt::format_to(std::back_inserter(text), "{} changes kept the address: other memory came at the same place\n",
                   program.same_address_changes);
  }
  text += "\n" + KindTable(program).Render(Format::kTable);
  if (!program.movers.empty()) {
    text += "\nslots that move most:\n" + MoverTable(program).Render(Format::kTable);
  }
  return text;
}

// ---- csv ----

Table ProgramTable(const TraceSummary& info) {
  Table table{{"program", "module", "device", "commands", "declarations", "slots", "bytes", "bytes_mapped", "steps",
               "changed_min", "changed_median", "changed_max", "changed_slot_steps", "changed_steps", "runs",
               "same_address_changes", "duration_median"},
              {}};
  for (const ProgramSummary& program : info.programs) {
    table.rows.push_back({program.id, program.module, program.device, program.commands, program.declarations,
                          program.slots, program.bytes, program.bytes_mapped, program.steps, program.changed_min,
                          program.changed_median, program.changed_max, program.changed_slot_steps,
                          program.changed_steps, program.runs, program.same_address_changes,
                          program.duration_median == kUnknownTime ? Cell::Null() : Cell(program.duration_median)});
  }
  return table;
}

// ---- json ----

void WriteProgram(JsonWriter& json, const ProgramSummary& program) {
  json.BeginObject();
  json.Key("id").UInt(program.id).Key("module").String(program.module).Key("device").Int(program.device);
  json.Key("commands").UInt(program.commands).Key("declarations").UInt(program.declarations);
  json.Key("slots").UInt(program.slots).Key("bytes").UInt(program.bytes);
  json.Key("bytes_mapped").UInt(program.bytes_mapped).Key("steps").UInt(program.steps);
  json.Key("changed_per_step").BeginObject().Key("min").UInt(program.changed_min);
  json.Key("median").UInt(program.changed_median).Key("max").UInt(program.changed_max).EndObject();
  json.Key("changed_slot_steps").UInt(program.changed_slot_steps).Key("changed_steps").UInt(program.changed_steps);
  json.Key("runs").UInt(program.runs).Key("same_address_changes").UInt(program.same_address_changes);
  json.Key("duration_median");
  if (program.duration_median == kUnknownTime) {
    json.Null();
  } else {
    json.Int(program.duration_median);
  }
  json.Key("slots_by_kind_and_size").BeginArray();
  for (size_t kind = 0; kind < kSlotKindCount; ++kind) {
    for (size_t i = 0; i < kSizeClasses.size(); ++i) {
      const SlotTally& tally = program.tally[kind][i];
      if (tally.slots > 0) {
        json.BeginObject().Key("kind").String(Name(static_cast<SlotKind>(kind)));
        json.Key("size").String(kSizeClasses[i].name).Key("slots").UInt(tally.slots);
        json.Key("bytes").UInt(tally.bytes).Key("changed").UInt(tally.changes).EndObject();
      }
    }
  }
  json.EndArray().Key("movers").BeginArray();
  for (const SlotMovement& mover : program.movers) {
    json.BeginObject().Key("slot").UInt(mover.slot.index).Key("kind").String(Name(mover.slot.kind));
    json.Key("size").UInt(mover.slot.size).Key("changed").UInt(mover.changes);
    json.Key("backings").UInt(mover.distinct_backings).EndObject();
  }
  json.EndArray().EndObject();
}

std::string JsonText(const std::string& path, const Trace& trace, const TraceSummary& info) {
  using enum TraceEventType;
  JsonWriter json;
  json.BeginObject().Key("file").String(path).Key("version").Int(trace.header.version);
  json.Key("xxh3").String(trace.xxh3).Key("source").String(trace.header.source);
  json.Key("tool").String(trace.header.tool).Key("allocator").String(trace.header.allocator);
  json.Key("granularity").UInt(info.granularity).Key("meta").Raw(trace.header.meta_json);
  json.Key("identity").String(IdentityName(trace)).Key("cut_off").Bool(!trace.end.present);
  json.Key("starts_mid_life").Bool(trace.end.starts_mid_life).Key("lost_events").UInt(trace.end.lost_events);
  json.Key("counts").Raw(trace.end.counts_json).Key("skipped_events").UInt(trace.skipped_events);
  json.Key("steps").UInt(trace.steps()).Key("backings").UInt(info.backings);
  json.Key("unknown_addresses").UInt(info.unknown_addresses).Key("allocs").UInt(Events(info, kAlloc));
  json.Key("reused_allocs").UInt(info.reused_allocs).Key("frees").UInt(Events(info, kFree));
  json.Key("deferred_frees").UInt(Events(info, kDeferredFree)).Key("marks").UInt(Events(info, kMark));
  json.Key("timings").BeginArray();
  for (const TimingInfo& timing : info.timings) {
    json.BeginObject().Key("kind").String(timing.kind).Key("events").UInt(timing.events);
    json.Key("ns").Int(timing.ns).Key("count").UInt(timing.count).EndObject();
  }
  json.EndArray().Key("programs").BeginArray();
  for (const ProgramSummary& program : info.programs) {
    WriteProgram(json, program);
  }
  json.EndArray().EndObject();
  return json.TakeText() + "\n";
}

}  // namespace

Result<int> TraceInfoVerb(const std::string& path, const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  uint64_t granularity = 0;
  if (arguments.Has("granularity")) {
    REMAPLAB_ASSIGN(granularity, ParseBytes(arguments.Get("granularity"), "--granularity"));
    if (granularity == 0) {
      return Fail(ErrorCode::kUsage, "--granularity: must be above 0");
    }
  }
  REMAPLAB_ASSIGN(const Trace trace, LoadTrace(path));
  TraceSummary info = InspectTrace(trace, granularity);
  if (arguments.Has("program")) {
    REMAPLAB_TRY(Narrow(info, arguments.Get("program")));
  }
  std::string text;
  if (format == Format::kJson) {
    text = JsonText(path, trace, info);
  } else if (format == Format::kTable) {
    text = OverviewText(path, trace, info);
    for (const ProgramSummary& program : info.programs) {
      text += ProgramText(program);
    }
  } else {
    text = ProgramTable(info).Render(format);
  }
  REMAPLAB_TRY(Print(text));
  return kOk;
}

}  // namespace remaplab::cli
