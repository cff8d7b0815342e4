#include "replay/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/json_writer.h"

namespace remaplab {
namespace {

// The numbers of a run under the names that JSON, CSV and documentation use, in one order.
template <typename Visit>
void VisitDuration(const DurationSummary& duration, Visit visit) {
  visit("first", duration.first);
  visit("total", duration.total);
  visit("median", duration.median);
  visit("p99", duration.p99);
}

template <typename Visit>
void VisitMemory(const RunSummary& summary, Visit visit) {
  visit("peak_reserved", summary.peak_reserved);
  visit("shadow_bytes", summary.shadow_bytes);
  visit("retained_bytes", summary.retained_bytes);
  visit("command_buffers", summary.command_buffers);
}

void WriteCalls(JsonWriter& json, std::string_view key, const KindTotals& totals) {
  json.Key(key).BeginObject();
  for (size_t kind = 0; kind < kCallKindCount; ++kind) {
    json.Key(kCallKindNames[kind]).UInt(totals[kind].n);
  }
  json.EndObject();
}

void WriteDuration(JsonWriter& json, std::string_view key, const DurationSummary& duration) {
  json.Key(key).BeginObject();
  VisitDuration(duration, [&json](std::string_view name, int64_t value) { json.Key(name).Int(value); });
  json.EndObject();
}

void WriteRun(JsonWriter& json, const ProgramRun& run) {
  const RunInfo& info = run.info;
  const RunSummary& summary = run.summary;
  json.BeginObject();
  json.Key("strategy").String(info.strategy).Key("backend").String(info.backend);
  json.Key("cost_profile").String(info.cost_profile.name).Key("cost_quality").String(info.cost_profile.quality);
  json.Key("driver_profile").String(info.driver_profile);
  json.Key("program").UInt(info.program.id).Key("module").String(info.program.module);
  json.Key("device").Int(info.program.device).Key("devices").UInt(info.devices);
  json.Key("granularity")
      .UInt(info.granularity)
      .Key("status")
      .String(kRunStatusNames[static_cast<size_t>(summary.status)]);
  json.Key("steps").UInt(summary.steps).Key("failed_steps").UInt(summary.failed_steps);
  json.Key("slots").UInt(summary.slots).Key("bytes_mapped").UInt(summary.bytes_mapped);
  json.Key("changed_slot_steps").UInt(summary.changed_slot_steps).Key("resolved").String(summary.resolved);
  json.Key("learned_at").UInt(summary.learned_at).Key("learning_ns").Int(summary.learning_ns);
  WriteCalls(json, "calls", summary.calls);
  WriteCalls(json, "teardown", summary.teardown);
  WriteCalls(json, "cleanup", summary.cleanup);
  json.Key("memory").BeginObject();
  VisitMemory(summary, [&json](std::string_view name, uint64_t value) { json.Key(name).UInt(value); });
  json.EndObject();
  WriteDuration(json, "step_ns", summary.step_ns);
  WriteDuration(json, "remap_ns", summary.remap_ns);
  WriteDuration(json, "wait_ns", summary.wait_ns);
  json.Key("gpu_step_ns").Int(summary.gpu_step_ns);
  json.Key("stale_mappings").UInt(summary.stale_mappings).Key("stale_steps").UInt(summary.stale_steps);
  json.Key("skips_on_assumption").UInt(summary.skips_on_assumption);
  json.Key("verification_failures").UInt(summary.verification_failures);
  json.Key("unsure_terms").String(summary.unsure_terms);
  json.Key("failures").BeginArray();
  for (const FaultRow& fault : run.faults) {
    json.BeginObject().Key("step").UInt(fault.step).Key("call").String(Name(fault.kind)).Key("slot");
    fault.slot ? json.UInt(*fault.slot) : json.Null();
    json.Key("code").String(fault.code).Key("message").String(fault.message).EndObject();
  }
  json.EndArray().Key("mismatches").BeginArray();
  for (const MismatchRow& mismatch : run.mismatches) {
    json.BeginObject().Key("step").UInt(mismatch.step).Key("slot").UInt(mismatch.slot).EndObject();
  }
  json.EndArray().EndObject();
}

std::string Headline(const ProgramRun& run) {
  const RunInfo& info = run.info;
  std::string text = fmt::format("{} on device {}: {} steps, {} slots, {} mapped, {} changed slot-steps\n",
                                 info.program.module, info.program.device, run.summary.steps, run.summary.slots,
                                 cli::HumanBytes(run.summary.bytes_mapped), run.summary.changed_slot_steps);
  text += fmt::format("backend {}", info.backend);
  text += info.driver_profile.empty() ? "" : fmt::format(", driver {}", info.driver_profile);
  text += info.cost_profile.name.empty()
              ? ""
              : fmt::format(", costs {} ({})", info.cost_profile.name, info.cost_profile.quality);
  return text + fmt::format(", {} device{}, granularity {}, GPU step {}\n\n", info.devices,
                            info.devices == 1 ? "" : "s", cli::HumanBytes(info.granularity),
                            cli::HumanTime(run.summary.gpu_step_ns));
}

// Columns of call counts that are zero in every run say nothing and are left out.
constexpr std::array<CallKind, 7> kOptionalColumns = {CallKind::kMap,    CallKind::kUnmap, CallKind::kSetAccess,
                                                      CallKind::kWait,   CallKind::kCopy,  CallKind::kUpdate,
                                                      CallKind::kCapture};

std::string GapText(std::optional<int64_t> best, int64_t bound) {
  if (!best || bound == 0) {
    return {};
  }
  return fmt::format("best +{:.2f} %", (static_cast<double>(*best) / static_cast<double>(bound) - 1) * 100);
}

cli::Table ComparisonTable(std::span<const ProgramRun* const> runs, const OracleBound* oracle) {
  const auto count = [](const ProgramRun& run, CallKind kind) {
    return run.summary.calls[static_cast<size_t>(kind)].n;
  };
  std::vector<CallKind> kinds;
  for (const CallKind kind : kOptionalColumns) {
    if (std::any_of(runs.begin(), runs.end(), [&](const ProgramRun* run) { return count(*run, kind) > 0; })) {
      kinds.push_back(kind);
    }
  }
  cli::Table table;
  table.columns = {"strategy"};
  for (const CallKind kind : kinds) {
    table.columns.emplace_back(Name(kind));
  }
  for (const std::string_view column : {"step median", "step mean", "remap/step", "wait/step"}) {
    table.columns.emplace_back(column);
  }
  std::optional<int64_t> best;  // of the runs that the bound holds for
  for (const ProgramRun* run : runs) {
    if (run->summary.failed_steps == 0 && run->summary.stale_mappings == 0) {
      best = std::min(best.value_or(run->summary.step_ns.total), run->summary.step_ns.total);
    }
    std::vector<cli::Cell> row = {run->info.strategy};
    for (const CallKind kind : kinds) {
      row.emplace_back(count(*run, kind));
    }
    row.push_back(cli::Cell::Number(cli::HumanTime(run->summary.step_ns.median)));
    row.push_back(cli::Cell::Number(cli::HumanTime(PerStep(run->summary.step_ns.total, *run))));
    row.push_back(cli::Cell::Number(cli::HumanTime(PerStep(run->summary.remap_ns.total, *run))));
    row.push_back(cli::Cell::Number(cli::HumanTime(PerStep(run->summary.wait_ns.total, *run))));
    table.rows.push_back(std::move(row));
  }
  if (oracle != nullptr) {
    std::vector<cli::Cell> row = {"oracle (bound)"};
    row.resize(kinds.size() + 2, cli::Cell::Null());
    row.push_back(cli::Cell::Number(cli::HumanTime(PerStep(oracle->total_ns, *runs[0]))));
    row.push_back(cli::Cell::Number(GapText(best, oracle->total_ns)));
    row.push_back(cli::Cell::Null());
    table.rows.push_back(std::move(row));
  }
  return table;
}

// What a reader of the table must know: stale memory, failures, assumptions, numbers that nobody measured.
std::string Remarks(std::span<const ProgramRun* const> runs) {
  std::string text;
  const auto say = [&text](const ProgramRun& run, std::string_view what) {
    fmt::format_to(std::back_inserter(text), "{}: {}\n", run.info.strategy, what);
  };
  for (const ProgramRun* run : runs) {
    const RunSummary& summary = run->summary;
    if (!summary.resolved.empty()) {
      say(*run, summary.resolved);
    }
    if (summary.learning_ns > 0) {
      say(*run, fmt::format("learning up to step {} cost {}", summary.learned_at, cli::HumanTime(summary.learning_ns)));
    }
    if (summary.stale_mappings > 0) {
      say(*run, fmt::format("NOT SAFE: {} stale mappings on {} steps (same address, other memory)",
                            summary.stale_mappings, summary.stale_steps));
    }
    if (summary.skips_on_assumption > 0) {
      say(*run, fmt::format("{} skips rest on the assumption that a re-issued address is the same memory",
                            summary.skips_on_assumption));
    }
    if (summary.verification_failures > 0) {
      say(*run, fmt::format("{} wrong tags; the first at step {}, slot {}", summary.verification_failures,
                            run->mismatches.front().step, run->mismatches.front().slot));
    }
    if (summary.failed_steps > 0) {
      say(*run, fmt::format("{} steps failed; the first: {}", summary.failed_steps,
                            run->faults.empty() ? "unknown" : run->faults.front().message));
    }
    for (const DiagnosticRow& diagnostic : run->diagnostics) {
      say(*run, diagnostic.text);
    }
  }
  if (!runs[0]->summary.unsure_terms.empty()) {
    fmt::format_to(std::back_inserter(text), "not measured on this device: {}\n", runs[0]->summary.unsure_terms);
  }
  return text;
}

}  // namespace

int64_t PerStep(int64_t total, const ProgramRun& run) {
  const uint64_t launched = run.summary.steps - run.summary.failed_steps;
  const uint64_t covered = launched - std::min(launched, run.info.warmup_steps);
  return covered == 0 ? 0 : total / static_cast<int64_t>(covered);
}

std::string RunsToJson(std::span<const ProgramRun> runs, std::span<const OracleBound> oracle) {
  JsonWriter json;
  json.BeginObject().Key("runs").BeginArray();
  for (const ProgramRun& run : runs) {
    WriteRun(json, run);
  }
  json.EndArray().Key("oracle").BeginArray();
  for (const OracleBound& bound : oracle) {
    json.BeginObject().Key("program").UInt(bound.program).Key("module").String(bound.module);
    json.Key("cost_profile").String(bound.cost_profile);
    json.Key("step_ns").BeginObject().Key("total").Int(bound.total_ns).EndObject().EndObject();
  }
  json.EndArray().EndObject();
  return json.TakeText() + "\n";
}

cli::Table RunsToCsvTable(std::span<const ProgramRun> runs) {
  cli::Table table;
  for (const ProgramRun& run : runs) {
    std::vector<cli::Cell> row;
    const auto add = [&](std::string name, cli::Cell cell) {
      if (table.rows.empty()) {
        table.columns.push_back(std::move(name));
      }
      row.push_back(std::move(cell));
    };
    const RunSummary& summary = run.summary;
    add("strategy", run.info.strategy);
    add("backend", run.info.backend);
    add("cost_profile", run.info.cost_profile.name);
    add("program", run.info.program.id);
    add("module", run.info.program.module);
    add("device", run.info.program.device);
    add("steps", summary.steps);
    add("failed_steps", summary.failed_steps);
    add("slots", summary.slots);
    add("bytes_mapped", summary.bytes_mapped);
    add("changed_slot_steps", summary.changed_slot_steps);
    add("resolved", summary.resolved);
    add("learned_at", summary.learned_at);
    add("learning_ns", summary.learning_ns);
    const auto add_calls = [&](std::string_view prefix, const KindTotals& totals) {
      for (size_t kind = 0; kind < kCallKindCount; ++kind) {
        add(fmt::format("{}.{}", prefix, kCallKindNames[kind]), totals[kind].n);
      }
    };
    add_calls("calls", summary.calls);
    add_calls("teardown", summary.teardown);
    add_calls("cleanup", summary.cleanup);
    VisitMemory(summary, [&](std::string_view name, uint64_t value) { add(fmt::format("memory.{}", name), value); });
    const auto add_duration = [&](std::string_view prefix, const DurationSummary& duration) {
      VisitDuration(duration,
                    [&](std::string_view name, int64_t value) { add(fmt::format("{}.{}", prefix, name), value); });
    };
    add_duration("step_ns", summary.step_ns);
    add_duration("remap_ns", summary.remap_ns);
    add_duration("wait_ns", summary.wait_ns);
    add("gpu_step_ns", summary.gpu_step_ns);
    add("stale_mappings", summary.stale_mappings);
    add("skips_on_assumption", summary.skips_on_assumption);
    add("verification_failures", summary.verification_failures);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string RunsToText(std::span<const ProgramRun> runs, std::span<const OracleBound> oracle) {
  std::vector<uint32_t> order;
  std::map<uint32_t, std::vector<const ProgramRun*>> by_program;
  for (const ProgramRun& run : runs) {
    std::vector<const ProgramRun*>& group = by_program[run.info.program.id];
    if (group.empty()) {
      order.push_back(run.info.program.id);
    }
    group.push_back(&run);
  }
  std::string text;
  for (const uint32_t program : order) {
    const std::vector<const ProgramRun*>& group = by_program[program];
    const auto bound = std::find_if(oracle.begin(), oracle.end(),
                                    [program](const OracleBound& candidate) { return candidate.program == program; });
    text += text.empty() ? "" : "\n";
    text += Headline(*group[0]);
    text += ComparisonTable(group, bound == oracle.end() ? nullptr : &*bound).Render(cli::Format::kTable);
    const std::string remarks = Remarks(group);
    text += remarks.empty() ? "" : "\n" + remarks;
  }
  return text;
}

}  // namespace remaplab
