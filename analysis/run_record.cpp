#include "analysis/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/sqlite.h"

namespace remaplab {
namespace {

struct IntColumn {
  std::string_view name;
  int64_t RunRecord::*member;
};
struct TextColumn {
  std::string_view name;
  std::string RunRecord::*member;
};
struct TimesColumn {
  std::string_view prefix;
  DurationSummary RunRecord::*member;
};

constexpr IntColumn kIntColumns[] = {{"run_id", &RunRecord::id},
                                     {"v.start", &RunRecord::start},
                                     {"program", &RunRecord::program},
                                     {"device", &RunRecord::device},
                                     {"devices", &RunRecord::devices},
                                     {"granularity", &RunRecord::granularity},
                                     {"host_step_ns", &RunRecord::host_step_ns},
                                     {"run_ahead", &RunRecord::run_ahead},
                                     {"warmup_steps", &RunRecord::warmup_steps},
                                     {"steps", &RunRecord::steps},
                                     {"failed_steps", &RunRecord::failed_steps},
                                     {"slots", &RunRecord::slots},
                                     {"bytes_mapped", &RunRecord::bytes_mapped},
                                     {"changed_slot_steps", &RunRecord::changed_slot_steps},
                                     {"peak_reserved", &RunRecord::peak_reserved},
                                     {"shadow_bytes", &RunRecord::shadow_bytes},
                                     {"retained_bytes", &RunRecord::retained_bytes},
                                     {"command_buffers", &RunRecord::command_buffers},
                                     {"gpu_step_ns", &RunRecord::gpu_step_ns},
                                     {"stale_mappings", &RunRecord::stale_mappings},
                                     {"stale_steps", &RunRecord::stale_steps},
                                     {"skips_on_assumption", &RunRecord::skips_on_assumption},
                                     {"verification_failures", &RunRecord::verification_failures}};

constexpr TextColumn kTextColumns[] = {
    {"uuid", &RunRecord::uuid},
    {"status", &RunRecord::status},
    {"tag", &RunRecord::tag},
    {"git_revision", &RunRecord::git_revision},
    {"host", &RunRecord::host},
    {"device_facts", &RunRecord::device_facts},
    {"coalesce(json_extract(device_facts, '$.device'), '')", &RunRecord::device_class},
    {"trace", &RunRecord::trace},
    {"trace_xxh3", &RunRecord::trace_xxh3},
    {"module", &RunRecord::module},
    {"strategy", &RunRecord::strategy},
    {"resolved", &RunRecord::resolved},
    {"backend", &RunRecord::backend},
    {"driver_profile", &RunRecord::driver_profile},
    {"cost_profile", &RunRecord::cost_profile},
    {"cost_profile_quality", &RunRecord::cost_profile_quality},
    {"coalesce((SELECT params FROM cost_profile AS c JOIN run AS r ON r.cost_profile = c.id WHERE r.id = run_id), '')",
     &RunRecord::cost_profile_params},
    {"scale", &RunRecord::scale},
    {"slot_filter", &RunRecord::slot_filter},
    {"unsure_terms", &RunRecord::unsure_terms}};

constexpr TimesColumn kTimesColumns[] = {
    {"step_ns", &RunRecord::step_ns}, {"remap_ns", &RunRecord::remap_ns}, {"wait_ns", &RunRecord::wait_ns}};

std::string SelectRuns() {
  std::string columns;
  for (const IntColumn& column : kIntColumns) {
    columns += fmt::format("{}, ", column.name);
  }
  for (const TextColumn& column : kTextColumns) {
    columns += fmt::format("{}, ", column.name);
  }
  for (const TimesColumn& column : kTimesColumns) {
    columns += fmt::format("{0}_first, {0}_total, {0}_median, {0}_p99, ", column.prefix);
  }
  return fmt::format(
      "SELECT {}git_dirty, measured, coalesce(json_extract(device_facts, '$.throttled'), 'no') IN ('1', 'yes', 'true'),"
      " position, gpu_step_option_ns, oracle_ns, (SELECT max(time) FROM acceptance WHERE run = run_id) "
      "FROM v_run AS v WHERE status IN ('finished', 'failed') ORDER BY v.start, run_id",
      columns);
}

RunRecord ReadRun(const Statement& row) {
  RunRecord run;
  int column = 0;
  for (const IntColumn& field : kIntColumns) {
    run.*field.member = row.Int(column++);
  }
  for (const TextColumn& field : kTextColumns) {
    run.*field.member = row.Text(column++);
  }
  for (const TimesColumn& field : kTimesColumns) {
    run.*field.member = {row.Int(column), row.Int(column + 1), row.Int(column + 2), row.Int(column + 3)};
    column += 4;
  }
  run.git_dirty = row.Int(column++) != 0;
  run.measured = row.Int(column++) != 0;
  run.throttled = row.Int(column++) != 0;
  run.position = row.MaybeInt(column++);
  run.gpu_step_option_ns = row.MaybeInt(column++);
  run.oracle_ns = row.MaybeInt(column++);
  run.accepted = row.MaybeInt(column++);
  return run;
}

Status ReadCalls(Database& database, RunRecord& run) {
  REMAPLAB_ASSIGN(Statement calls, database.Prepare("SELECT phase, kind, n, duration FROM run_call WHERE run = ?"));
  calls.Bind(1, run.id);
  while (true) {
    REMAPLAB_ASSIGN(const bool row, calls.Step());
    if (!row) {
      return {};
    }
    const auto phase = static_cast<size_t>(calls.Int(0));
    const auto kind = static_cast<size_t>(calls.Int(1));
    if (phase < run.calls.size() && kind < kCallKindCount) {
      run.calls[phase][kind] = {static_cast<uint64_t>(calls.Int(2)), calls.Int(3)};
    }
  }
}

Status ReadSamples(Database& database, RunRecord& run) {
  REMAPLAB_ASSIGN(Statement samples, database.Prepare("SELECT metric, n, min, q1, median, q3, p99, max, mean, mad FROM "
                                                      "sample WHERE run = ?"));
  samples.Bind(1, run.id);
  while (true) {
    REMAPLAB_ASSIGN(const bool row, samples.Step());
    if (!row) {
      return {};
    }
    run.samples[std::string(samples.Text(0))] = {static_cast<uint64_t>(samples.Int(1)),
                                                 samples.Int(2),
                                                 samples.Int(3),
                                                 samples.Int(4),
                                                 samples.Int(5),
                                                 samples.Int(6),
                                                 samples.Int(7),
                                                 samples.Int(8),
                                                 samples.Int(9)};
  }
}

// One criterion of a selection: which of its values a run satisfies.
struct Criterion {
  std::string_view name;
  const std::vector<std::string>& wanted;
  bool (*matches)(const RunRecord& run, const std::string& value);
  std::string (*value_of)(const RunRecord& run);
};

std::vector<Criterion> Criteria(const RunSelection& selection) {
  return {{"run", selection.runs,
           [](const RunRecord& run, const std::string& value) {
             return std::to_string(run.id) == value || (value.size() >= 4 && run.uuid.starts_with(value));
           },
           [](const RunRecord& run) { return std::to_string(run.id); }},
          {"tag", selection.tags, [](const RunRecord& run, const std::string& value) { return run.tag == value; },
           [](const RunRecord& run) { return run.tag; }},
          {"git revision", selection.revisions,
           [](const RunRecord& run, const std::string& value) { return run.git_revision.starts_with(value); },
           [](const RunRecord& run) { return run.git_revision; }},
          {"strategy", selection.strategies,
           [](const RunRecord& run, const std::string& value) { return run.strategy == value; },
           [](const RunRecord& run) { return run.strategy; }},
          {"backend", selection.backends,
           [](const RunRecord& run, const std::string& value) { return run.backend == value; },
           [](const RunRecord& run) { return run.backend; }},
          {"program", selection.programs,
           [](const RunRecord& run, const std::string& value) {
             return run.module == value || std::to_string(run.program) == value;
           },
           [](const RunRecord& run) { return run.module; }}};
}

Status CheckWanted(const std::string& path, const std::vector<RunRecord>& runs, const Criterion& criterion) {
  constexpr size_t kShown = 12;
  for (const std::string& value : criterion.wanted) {
    if (std::none_of(runs.begin(), runs.end(), [&](const RunRecord& run) { return criterion.matches(run, value); })) {
      std::set<std::string> there;
      for (const RunRecord& run : runs) {
        there.insert(criterion.value_of(run));
      }
      std::string list;
      size_t shown = 0;
      for (const std::string& name : there) {
        list += fmt::format("{}{}", list.empty() ? "" : ", ", ++shown > kShown ? "..." : name.empty() ? "''" : name);
        if (shown > kShown) {
          break;
        }
      }
      return Fail(ErrorCode::kUsage, fmt::format("{}: no finished run has {} '{}' (there are: {})", path,
                                                 criterion.name, value, list.empty() ? "none" : list));
    }
  }
  return {};
}

std::string MaybeText(const std::optional<int64_t>& value) { return value ? std::to_string(*value) : "from the trace"; }

std::vector<std::pair<std::string_view, std::string>> Configuration(const RunRecord& run) {
  return {{"trace hash", run.trace_xxh3},
          {"program", std::to_string(run.program)},
          {"module", run.module},
          {"device", std::to_string(run.device)},
          {"backend", run.backend},
          {"driver profile", run.measured ? std::string() : run.driver_profile},
          {"cost profile", run.cost_profile},
          {"devices", std::to_string(run.devices)},
          {"granularity", std::to_string(run.granularity)},
          {"GPU step", MaybeText(run.gpu_step_option_ns)},
          {"host step", std::to_string(run.host_step_ns)},
          {"run-ahead", std::to_string(run.run_ahead)},
          {"scale", run.scale},
          {"slots", run.slot_filter}};
}

}  // namespace

uint64_t RunRecord::calls_in_steps() const {
  uint64_t n = 0;
  for (const KindTotal& total : calls[static_cast<size_t>(RunPhase::kSteps)]) {
    n += total.n;
  }
  return n;
}

Result<std::vector<RunRecord>> LoadRuns(Store& store, const RunSelection& selection) {
  REMAPLAB_ASSIGN(Statement rows, store.database().Prepare(SelectRuns()));
  std::vector<RunRecord> all;
  while (true) {
    REMAPLAB_ASSIGN(const bool row, rows.Step());
    if (!row) {
      break;
    }
    all.push_back(ReadRun(rows));
  }
  const std::vector<Criterion> criteria = Criteria(selection);
  for (const Criterion& criterion : criteria) {
    REMAPLAB_TRY(CheckWanted(store.path(), all, criterion));
  }
  std::vector<RunRecord> selected;
  for (RunRecord& run : all) {
    const bool wanted = std::all_of(criteria.begin(), criteria.end(), [&](const Criterion& criterion) {
      return criterion.wanted.empty() ||
             std::any_of(criterion.wanted.begin(), criterion.wanted.end(),
                         [&](const std::string& value) { return criterion.matches(run, value); });
    });
    if (wanted) {
      REMAPLAB_TRY(ReadCalls(store.database(), run));
      REMAPLAB_TRY(ReadSamples(store.database(), run));
      selected.push_back(std::move(run));
    }
  }
  return selected;
}

std::string ConfigurationKey(const RunRecord& run, bool with_strategy) {
  std::string key = with_strategy ? run.strategy : std::string();
  for (const auto& [name, value] : Configuration(run)) {
    key.append(1, '\n').append(value);
  }
  return key;
}

std::string Describe(const RunRecord& run, bool with_strategy) {
  std::string text = fmt::format("{} {}", run.trace.empty() ? run.trace_xxh3 : run.trace, run.module);
  if (run.device != 0) {
    text += fmt::format(" device {}", run.device);
  }
  if (with_strategy) {
    text += fmt::format(" {}", run.strategy);
  }
  text += fmt::format(" on {}", run.backend);
  std::string profiles = run.driver_profile;
  if (!run.cost_profile.empty()) {
    profiles += fmt::format("{}{}", profiles.empty() ? "" : ", ", run.cost_profile);
  }
  return profiles.empty() ? text : fmt::format("{} ({})", text, profiles);
}

std::string DescribeDifference(const RunRecord& a, const RunRecord& b) {
  const auto left = Configuration(a);
  const auto right = Configuration(b);
  std::string text;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].second != right[i].second) {
      text += fmt::format("{}{} {} and {}", text.empty() ? "" : ", ", left[i].first, left[i].second, right[i].second);
    }
  }
  return text;
}

}  // namespace remaplab
