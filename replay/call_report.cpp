#include "replay/call_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/human.h"
#include "base/json_writer.h"
#include "replay/run_report.h"

namespace remaplab {
namespace {

using cli::Cell;
using cli::Table;

constexpr size_t kOthersShown = 8;

constexpr size_t IndexOf(CallKind kind) { return static_cast<size_t>(kind); }

bool IsAllocators(size_t kind) { return kind == IndexOf(CallKind::kCreate) || kind == IndexOf(CallKind::kRelease); }

// "2.50"; "-" when there is nothing to divide by.
std::string Per(uint64_t n, uint64_t of) {
  return of == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(n) / static_cast<double>(of));
}

std::string Time(int64_t ns) { return HumanTime(static_cast<double>(ns)); }

// The launches of one command buffer.
struct Executable {
  uint64_t launches = 0;
  CallTotals totals{};
};
using Executables = std::map<uint64_t, Executable>;  // by handle

Executables ByExecutable(const LaunchGroups& groups) {
  Executables executables;
  for (const LaunchGroup& group : groups.groups) {
    Executable& executable = executables[group.executable];
    ++executable.launches;
    for (size_t kind = 0; kind < kCallKindCount; ++kind) {
      executable.totals[kind].n += group.totals[kind].n;
      executable.totals[kind].timed += group.totals[kind].timed;
      executable.totals[kind].ns += group.totals[kind].ns;
    }
  }
  return executables;
}

std::string HandleName(uint64_t handle) {
  return handle == DriverCall::kUnknown ? "not told apart" : fmt::format("{:#x}", handle);
}

std::string HeaderText(const CallRecording& recording) {
  std::set<uint64_t> processes;
  for (const CallRecording::Thread& thread : recording.threads) {
    processes.insert(thread.pid);
  }
  std::string text =
      fmt::format("{}{}{}: {} driver calls", recording.source, recording.source_version.empty() ? "" : ", ",
                  recording.source_version, Grouped(static_cast<int64_t>(recording.calls.size())));
  if (recording.threads_known) {
    text += fmt::format(" of {} thread{} in {} process{}", recording.threads.size(),
                        recording.threads.size() == 1 ? "" : "s", processes.size(), processes.size() == 1 ? "" : "es");
  }
  return text + fmt::format("; times are {}\n", recording.clock);
}

std::string KindsText(const CallRecording& recording) {
  const auto summaries = Summarize(recording);
  Table table{.columns = {"kind", "calls", "failed", "total", "median", "p99", "max", "bytes"}, .rows = {}};
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    const CallSummary& summary = summaries[kind];
    if (summary.calls == 0) {
      continue;
    }
    const auto time = [&summary](int64_t ns) { return Cell::Number(summary.timed == 0 ? "-" : Time(ns)); };
    const bool some = summary.sized > 0 && summary.sized < summary.calls;
    table.rows.push_back(
        {kCallKindNames[kind], summary.calls, summary.failed, time(summary.total), time(summary.median),
         time(summary.p99), time(summary.max),
         Cell::Number(summary.sized == 0 ? "-"
                                         : fmt::format("{}{}", some ? "at least " : "", HumanBytes(summary.bytes)))});
  }
  return table.rows.empty() ? "no call of any kind that a remap makes\n" : table.Render(cli::Format::kTable);
}

std::string LaunchesText(const CallRecording& recording) {
  const LaunchGroups groups = GroupByLaunch(recording);
  if (groups.groups.empty()) {
    return fmt::format("\nnot grouped by launch: {}\n", groups.why_none);
  }
  Table table{.columns = {"command buffer", "launches"}, .rows = {}};
  std::vector<size_t> kinds;
  const CallTotals totals = TotalsByKind(recording);
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    if (totals[kind].n > 0 && kind != IndexOf(CallKind::kLaunch) && !IsAllocators(kind)) {
      kinds.push_back(kind);
      table.columns.push_back(fmt::format("{}/launch", kCallKindNames[kind]));
    }
  }
  for (const auto& [handle, executable] : ByExecutable(groups)) {
    std::vector<Cell> row = {HandleName(handle), executable.launches};
    for (const size_t kind : kinds) {
      row.push_back(Cell::Number(Per(executable.totals[kind].n, executable.launches)));
    }
    table.rows.push_back(std::move(row));
  }
  return "\ncalls of the launching thread since its launch before, per launch\n" + table.Render(cli::Format::kTable);
}

std::string OthersText(const CallRecording& recording) {
  if (recording.others.empty()) {
    return {};
  }
  Table table{.columns = {"other functions", "calls", "total"}, .rows = {}};
  for (size_t i = 0; i < std::min(recording.others.size(), kOthersShown); ++i) {
    const CallRecording::Other& other = recording.others[i];
    table.rows.push_back({other.name, other.calls, Cell::Number(Time(other.ns))});
  }
  std::string text = "\n" + table.Render(cli::Format::kTable);
  if (recording.others.size() > kOthersShown) {
    text += fmt::format("and {} more\n", recording.others.size() - kOthersShown);
  }
  return text;
}

std::string LossesText(const CallRecording& recording) {
  std::string text;
  for (const CallRecording::Loss& loss : recording.losses) {
    text += loss.count == 0 ? fmt::format("  {}\n", loss.text)
                            : fmt::format("  {} ({} times)\n", loss.text, Grouped(static_cast<int64_t>(loss.count)));
  }
  return text.empty() ? text : "\nwhat this recording cannot say, and what was made of it\n" + text;
}

void WriteCall(JsonWriter& json, const CallSummary& summary) {
  json.BeginObject();
  json.Key("n").UInt(summary.calls).Key("failed").UInt(summary.failed).Key("timed").UInt(summary.timed);
  json.Key("ns").Int(summary.total).Key("median").Int(summary.median).Key("p99").Int(summary.p99);
  json.Key("max").Int(summary.max).Key("sized").UInt(summary.sized).Key("bytes").UInt(summary.bytes);
  json.EndObject();
}

void WriteTotals(JsonWriter& json, const CallTotals& totals) {
  json.BeginObject();
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    json.Key(kCallKindNames[kind]).UInt(totals[kind].n);
  }
  json.EndObject();
}

void WriteLaunches(JsonWriter& json, const CallRecording& recording) {
  const LaunchGroups groups = GroupByLaunch(recording);
  json.Key("launches").BeginObject();
  json.Key("n").UInt(groups.groups.size());
  json.Key("why_none");
  if (groups.why_none.empty()) {
    json.Null();
  } else {
    json.String(groups.why_none);
  }
  json.Key("command_buffers").BeginArray();
  for (const auto& [handle, executable] : ByExecutable(groups)) {
    json.BeginObject().Key("handle");
    if (handle == DriverCall::kUnknown) {
      json.Null();
    } else {
      json.String(HandleName(handle));
    }
    json.Key("launches").UInt(executable.launches).Key("calls");
    WriteTotals(json, executable.totals);
    json.EndObject();
  }
  json.EndArray().Key("outside");
  WriteTotals(json, groups.outside);
  json.EndObject();
}

void WriteRecording(JsonWriter& json, const CallRecording& recording) {
  json.Key("source").String(recording.source).Key("source_version").String(recording.source_version);
  json.Key("clock").String(recording.clock).Key("resolution_ns").Int(recording.resolution_ns);
  json.Key("threads_known").Bool(recording.threads_known);
  json.Key("calls").BeginObject();
  const auto summaries = Summarize(recording);
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    json.Key(kCallKindNames[kind]);
    WriteCall(json, summaries[kind]);
  }
  json.EndObject();
  WriteLaunches(json, recording);
  json.Key("others").BeginArray();
  for (const CallRecording::Other& other : recording.others) {
    json.BeginObject().Key("name").String(other.name).Key("n").UInt(other.calls).Key("ns").Int(other.ns).EndObject();
  }
  json.EndArray();
  const CostPoints costs = MeasuredCosts(recording);
  json.Key("cost_points").UInt(costs.points.size());
  json.Key("losses").BeginArray();
  for (const CallRecording::Loss& loss : recording.losses) {
    json.BeginObject().Key("count").UInt(loss.count).Key("text").String(loss.text).EndObject();
  }
  json.EndArray();
}

// What a replay called of a kind: the strategy's calls, or the allocator's for its kinds.
const KindTotal& Replayed(const ProgramRun& run, size_t kind) {
  return IsAllocators(kind) ? run.summary.allocator[kind] : run.summary.calls[kind];
}

std::string RunName(const ProgramRun& run) {
  return fmt::format("{} {} under {}", run.info.program.id, run.info.program.module, run.info.strategy);
}

bool BothEmpty(const CallTotals& totals, const ProgramRun& run, size_t kind) {
  return totals[kind].n == 0 && Replayed(run, kind).n == 0;
}

std::string AgainstText(const CallRecording& recording, const ProgramRun& run) {
  const CallTotals totals = TotalsByKind(recording);
  const uint64_t launches = totals[IndexOf(CallKind::kLaunch)].n;
  Table table{.columns = {"kind", "recorded", "per launch", "mean", "replayed", "per step", "mean"}, .rows = {}};
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    if (BothEmpty(totals, run, kind)) {
      continue;
    }
    const KindTotal& replayed = Replayed(run, kind);
    const auto mean = [](int64_t ns, uint64_t n) {
      return Cell::Number(n == 0 ? "-" : HumanTime(static_cast<double>(ns) / static_cast<double>(n)));
    };
    table.rows.push_back({kCallKindNames[kind], totals[kind].n, Cell::Number(Per(totals[kind].n, launches)),
                          mean(totals[kind].ns, totals[kind].timed), replayed.n,
                          Cell::Number(Per(replayed.n, run.summary.steps)), mean(replayed.ns, replayed.n)});
  }
  return fmt::format("\nbeside program {}, {} steps on {}{}{}\n{}", RunName(run), run.summary.steps, run.info.backend,
                     run.info.cost_profile.name.empty() ? "" : " with cost profile ", run.info.cost_profile.name,
                     table.Render(cli::Format::kTable));
}

}  // namespace

KindTotals ToKindTotals(const CallTotals& totals) {
  KindTotals result{};
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    result[kind] = {totals[kind].n, totals[kind].ns};
  }
  return result;
}

std::string RecordingToText(const CallRecording& recording) {
  const size_t points = MeasuredCosts(recording).points.size();
  return HeaderText(recording) + KindsText(recording) + LaunchesText(recording) + OthersText(recording) +
         LossesText(recording) +
         fmt::format("\n{} calls say all that a cost depends on (remaplab calibrate --from)\n",
                     Grouped(static_cast<int64_t>(points)));
}

std::string RecordingToJson(const CallRecording& recording) {
  JsonWriter json;
  json.BeginObject();
  WriteRecording(json, recording);
  json.EndObject();
  return json.TakeText() + "\n";
}

Table RecordingToTable(const CallRecording& recording) {
  Table table{.columns = {"kind", "n", "failed", "timed", "ns", "median", "p99", "max", "sized", "bytes"}, .rows = {}};
  const auto summaries = Summarize(recording);
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    const CallSummary& s = summaries[kind];
    table.rows.push_back(
        {kCallKindNames[kind], s.calls, s.failed, s.timed, s.total, s.median, s.p99, s.max, s.sized, s.bytes});
  }
  return table;
}

std::string RecordingAgainstToText(const CallRecording& recording, std::span<const ProgramRun> runs) {
  std::string text = HeaderText(recording) + KindsText(recording);
  for (const ProgramRun& run : runs) {
    text += AgainstText(recording, run);
  }
  return text + LossesText(recording);
}

std::string RecordingAgainstToJson(const CallRecording& recording, std::span<const ProgramRun> runs) {
  JsonWriter json;
  json.BeginObject().Key("recording").BeginObject();
  WriteRecording(json, recording);
  json.EndObject().Key("runs").Raw(RunsToJson(runs, {})).EndObject();
  return json.TakeText() + "\n";
}

Table RecordingAgainstToTable(const CallRecording& recording, std::span<const ProgramRun> runs) {
  Table table{.columns = {"program", "module", "strategy", "kind", "recorded_n", "recorded_ns", "recorded_launches",
                          "replayed_n", "replayed_ns", "replayed_steps"},
              .rows = {}};
  const CallTotals totals = TotalsByKind(recording);
  for (const ProgramRun& run : runs) {
    for (size_t kind = 0; kind < kCallKindCount; ++kind) {
      if (!BothEmpty(totals, run, kind)) {
        table.rows.push_back({uint64_t{run.info.program.id}, run.info.program.module, run.info.strategy,
                              kCallKindNames[kind], totals[kind].n, totals[kind].ns,
                              totals[IndexOf(CallKind::kLaunch)].n, Replayed(run, kind).n, Replayed(run, kind).ns,
                              run.summary.steps});
      }
    }
  }
  return table;
}

}  // namespace remaplab
