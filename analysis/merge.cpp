#include "analysis/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "analysis/sqlite.h"

namespace remaplab {
namespace {

// Tables that runs refer to: a row is found again by its first `keys` columns.
struct Dimension {
  std::string_view table;
  std::string_view columns;  // without id; a first column "trace" refers to another dimension
  int keys;
};
constexpr Dimension kTrace = {
    "trace", "xxh3, name, source, identity, steps, events, lost_events, starts_mid_life, complete, extdata", 1};
constexpr Dimension kProgram = {"program", "trace, number, module, device, commands, churn_steps_per_column", 4};
constexpr Dimension kStrategy = {"strategy", "name", 1};
constexpr Dimension kBuild = {"build", "version, git_revision, git_dirty, compiler, build_type, sanitizers", 6};
constexpr Dimension kHost = {"host", "extdata", 1};
constexpr Dimension kCostProfile = {"cost_profile", "name, quality, version, origin, date, device, params", 7};
constexpr Dimension kCampaign = {"campaign", "uuid, seed, plan", 1};

// Columns of run that refer to a dimension, in the order of kRunReferences; the rest are copied as they are.
constexpr std::array<const Dimension*, 6> kRunReferences = {&kProgram, &kStrategy, &kCostProfile,
                                                            &kBuild,   &kHost,     &kCampaign};
constexpr std::string_view kRunColumns =
    "program, strategy, cost_profile, build, host, campaign, uuid, status, start, \"end\", resolved, backend, "
    "measured, "
    "driver_profile, cell, position, tag, devices, granularity, gpu_step_override, host_step, run_ahead, seed, scale, "
    "slot_filter, warmup_steps, command_line, device_facts, steps, failed_steps, slots, bytes_mapped, "
    "changed_slot_steps, peak_reserved, shadow_bytes, retained_bytes, command_buffers, step_first, step_total, "
    "step_median, step_p99, remap_first, remap_total, remap_median, remap_p99, wait_first, wait_total, wait_median, "
    "wait_p99, gpu_step, stale_mappings, stale_steps, skips_on_assumption, verification_failures, oracle, unsure_terms";

// Tables of a run whose first column is the run.
struct RunTable {
  std::string_view table;
  std::string_view columns;  // without run
};
constexpr RunTable kRunTables[] = {{"run_call", "phase, kind, n, duration"},
                                   {"call_stat", "kind, size_class, n, duration"},
                                   {"sample", "metric, n, min, q1, median, q3, p99, max, mean, mad"},
                                   {"fault", "step, phase, kind, slot, code, message"},
                                   {"mismatch", "step, slot, expected, found"},
                                   {"diagnostic", "severity, message"},
                                   {"residual", "metric, size, n, predicted, measured"},
                                   {"acceptance", "uuid, time, reason"}};

// Tables whose id carries the run (001_runs.sql).
constexpr RunTable kKeyedTables[] = {
    {"step", "count, start, \"end\", calls, changed_slots, remap, wait, retained_bytes, stale_slots, failed"},
    {"step_call", "n, duration"},
    {"call", "step, phase, kind, slot, address, size, chunks, device, start, \"end\", failed, predicted"}};

constexpr std::string_view kVerdictColumns =
    "uuid, time, gate, pair, rule, rule_version, metric, base_runs, cand_runs, base_value, cand_value, ratio, low, "
    "high, p, floor, seed, result, reason";

int Width(std::string_view columns) { return static_cast<int>(std::count(columns.begin(), columns.end(), ',')) + 1; }

std::string Marks(int n) {
  std::string marks = "?";
  for (int i = 1; i < n; ++i) {
    marks += ",?";
  }
  return marks;
}

Status Interrupted(const MergeOptions& options) {
  if (options.stop != nullptr && options.stop->load()) {
    return Fail(ErrorCode::kInterrupted, "interrupted; the target is as it was");
  }
  return {};
}

// Copies runs of one source into the target, inside the caller's transaction.
class Merger {
 public:
  Merger(Database& source, Database& target, const MergeOptions& options)
      : source_(source), target_(target), options_(options) {}

  Result<MergedFile> Merge();

 private:
  Result<int64_t> MapDimension(const Dimension& dimension, int64_t id);
  Status CopyProgramDetails(int64_t from, int64_t to);
  Status CopyMatching(std::string_view table, std::string_view owner, std::string_view columns, int64_t from,
                      int64_t to);
  Status CopyKeyed(const RunTable& table, RunId from, RunId to);
  Result<RunId> CopyRunRow(RunId from);
  Status CopyRun(RunId from);
  Result<bool> IsConflict(RunId from, RunId to);
  Status CopyVerdicts();

  Database& source_;
  Database& target_;
  const MergeOptions& options_;
  std::map<std::pair<std::string_view, int64_t>, int64_t> mapped_;
};

Result<int64_t> Merger::MapDimension(const Dimension& dimension, int64_t id) {
  const auto key = std::pair(dimension.table, id);
  if (const auto known = mapped_.find(key); known != mapped_.end()) {
    return known->second;
  }
  REMAPLAB_ASSIGN(Statement read,
                  source_.Prepare(fmt::format("SELECT {} FROM {} WHERE id = ?", dimension.columns, dimension.table)));
  REMAPLAB_ASSIGN(const bool there, read.Bind(1, id).Step());
  if (!there) {
    return Fail(ErrorCode::kInput,
                fmt::format("{}: is damaged ({} {} is missing)", source_.path(), dimension.table, id));
  }
  const bool owned = &dimension == &kProgram;
  int64_t owner = 0;
  if (owned) {
    REMAPLAB_ASSIGN(owner, MapDimension(kTrace, read.Int(0)));
  }
  const auto bind = [&](Statement& statement, int n) {
    for (int i = 0; i < n; ++i) {
      owned&& i == 0 ? statement.Bind(1, owner) : statement.BindColumn(i + 1, read, i);
    }
  };
  std::string where;
  std::string_view rest = dimension.columns;
  for (int i = 0; i < dimension.keys; ++i) {
    const size_t comma = rest.find(", ");
    where += fmt::format("{}{} IS ?", i == 0 ? "" : " AND ", rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
  }
  REMAPLAB_ASSIGN(Statement find, target_.Prepare(fmt::format("SELECT id FROM {} WHERE {}", dimension.table, where)));
  bind(find, dimension.keys);
  REMAPLAB_ASSIGN(const bool found, find.Step());
  if (found) {
    return mapped_[key] = find.Int(0);
  }
  const int width = Width(dimension.columns);
  REMAPLAB_ASSIGN(Statement insert, target_.Prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", dimension.table,
                                                                dimension.columns, Marks(width))));
  bind(insert, width);
  REMAPLAB_TRY(insert.Run());
  const int64_t added = target_.last_insert_id();
  if (owned) {
    REMAPLAB_TRY(CopyProgramDetails(id, added));
  }
  return mapped_[key] = added;
}

Status Merger::CopyProgramDetails(int64_t from, int64_t to) {
  REMAPLAB_TRY(CopyMatching("slot", "program", "position, slot_index, size, space, kind, access", from, to));
  return CopyMatching("churn", "program", "step_column, position, changes", from, to);
}

Status Merger::CopyMatching(std::string_view table, std::string_view owner, std::string_view columns, int64_t from,
                            int64_t to) {
  REMAPLAB_ASSIGN(Statement read,
                  source_.Prepare(fmt::format("SELECT {} FROM {} WHERE {} = ?", columns, table, owner)));
  const int width = Width(columns);
  REMAPLAB_ASSIGN(Statement insert, target_.Prepare(fmt::format("INSERT INTO {} ({}, {}) VALUES ({})", table, owner,
                                                                columns, Marks(width + 1))));
  read.Bind(1, from);
  while (true) {
    REMAPLAB_ASSIGN(const bool row, read.Step());
    if (!row) {
      return {};
    }
    insert.Bind(1, to);
    for (int i = 0; i < width; ++i) {
      insert.BindColumn(i + 2, read, i);
    }
    REMAPLAB_TRY(insert.Run());
  }
}

Status Merger::CopyKeyed(const RunTable& table, RunId from, RunId to) {
  constexpr int64_t kRowsBetweenLooks = 65536;
  const int64_t first = RunKey(from);
  const int64_t shift = RunKey(to) - first;
  REMAPLAB_ASSIGN(Statement read,
                  source_.Prepare(fmt::format("SELECT id, {} FROM {} WHERE id BETWEEN ? AND ? ORDER BY id",
                                              table.columns, table.table)));
  REMAPLAB_ASSIGN(BulkInsert insert, BulkInsert::Prepare(target_, table.table, fmt::format("id, {}", table.columns)));
  read.Bind(1, first).Bind(2, RunKey(from + 1) - 1);
  std::vector<std::optional<int64_t>> values(static_cast<size_t>(Width(table.columns)) + 1);
  for (int64_t rows = 0;; ++rows) {
    REMAPLAB_ASSIGN(const bool row, read.Step());
    if (!row) {
      return insert.Finish();
    }
    if (rows % kRowsBetweenLooks == 0) {
      REMAPLAB_TRY(Interrupted(options_));
    }
    values[0] = read.Int(0) + shift;
    for (size_t i = 1; i < values.size(); ++i) {
      values[i] = read.MaybeInt(static_cast<int>(i));
    }
    REMAPLAB_TRY(insert.Add(values));
  }
}

Result<RunId> Merger::CopyRunRow(RunId from) {
  REMAPLAB_ASSIGN(Statement read, source_.Prepare(fmt::format("SELECT {} FROM run WHERE id = ?", kRunColumns)));
  REMAPLAB_TRY(read.Bind(1, from).Step());
  const int width = Width(kRunColumns);
  REMAPLAB_ASSIGN(Statement insert,
                  target_.Prepare(fmt::format("INSERT INTO run ({}) VALUES ({})", kRunColumns, Marks(width))));
  for (int i = 0; i < width; ++i) {
    const auto reference = static_cast<size_t>(i);
    if (reference < kRunReferences.size() && !read.IsNull(i)) {
      REMAPLAB_ASSIGN(const int64_t id, MapDimension(*kRunReferences[reference], read.Int(i)));
      insert.Bind(i + 1, id);
    } else {
      insert.BindColumn(i + 1, read, i);
    }
  }
  REMAPLAB_TRY(insert.Run());
  return target_.last_insert_id();
}

Status Merger::CopyRun(RunId from) {
  REMAPLAB_TRY(Interrupted(options_));
  REMAPLAB_ASSIGN(const RunId to, CopyRunRow(from));
  for (const RunTable& table : kRunTables) {
    REMAPLAB_TRY(CopyMatching(table.table, "run", table.columns, from, to));
  }
  for (const RunTable& table : kKeyedTables) {
    REMAPLAB_TRY(CopyKeyed(table, from, to));
  }
  return {};
}

Result<bool> Merger::IsConflict(RunId from, RunId to) {
  const auto facts = [](Database& database, RunId run) {
    return database.QueryText(fmt::format(
        "SELECT status || ' ' || start || ' ' || coalesce(\"end\", '') || ' ' || coalesce(steps, '') || ' ' || "
        "coalesce(step_total, '') || ' ' || (SELECT count(*) FROM step WHERE id BETWEEN {} AND {}) "
        "FROM run WHERE id = {}",
        RunKey(run), RunKey(run + 1) - 1, run));
  };
  REMAPLAB_ASSIGN(const std::string theirs, facts(source_, from));
  REMAPLAB_ASSIGN(const std::string ours, facts(target_, to));
  return theirs != ours;
}

Status Merger::CopyVerdicts() {
  REMAPLAB_ASSIGN(Statement read, source_.Prepare(fmt::format("SELECT {} FROM verdict ORDER BY id", kVerdictColumns)));
  const int width = Width(kVerdictColumns);
  REMAPLAB_ASSIGN(Statement insert, target_.Prepare(fmt::format("INSERT OR IGNORE INTO verdict ({}) VALUES ({})",
                                                                kVerdictColumns, Marks(width))));
  while (true) {
    REMAPLAB_ASSIGN(const bool row, read.Step());
    if (!row) {
      return {};
    }
    for (int i = 0; i < width; ++i) {
      insert.BindColumn(i + 1, read, i);
    }
    REMAPLAB_TRY(insert.Run());
  }
}

Result<MergedFile> Merger::Merge() {
  MergedFile file;
  file.path = source_.path();
  const std::set<std::string, std::less<>> wanted(options_.runs.begin(), options_.runs.end());
  REMAPLAB_ASSIGN(Statement runs, source_.Prepare("SELECT id, uuid FROM run ORDER BY id"));
  REMAPLAB_ASSIGN(Statement find, target_.Prepare("SELECT id FROM run WHERE uuid = ?"));
  while (true) {
    REMAPLAB_ASSIGN(const bool row, runs.Step());
    if (!row) {
      break;
    }
    const std::string_view uuid = runs.Text(1);
    if (!wanted.empty() && !wanted.contains(uuid)) {
      continue;
    }
    find.Reset();
    REMAPLAB_ASSIGN(const bool known, find.Bind(1, uuid).Step());
    if (!known) {
      REMAPLAB_TRY(CopyRun(runs.Int(0)));
      ++file.added;
      continue;
    }
    REMAPLAB_ASSIGN(const bool conflict, IsConflict(runs.Int(0), find.Int(0)));
    if (conflict) {
      file.conflicting.emplace_back(uuid);
    } else {
      ++file.known;
    }
  }
  find.Reset();
  if (wanted.empty()) {
    REMAPLAB_TRY(CopyVerdicts());
  }
  return file;
}

Result<std::vector<MergedFile>> MergeInto(Store& target, std::span<const std::string> sources,
                                          const MergeOptions& options) {
  std::vector<MergedFile> files;
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(target.database()));
  for (const std::string& path : sources) {
    REMAPLAB_ASSIGN(Store source, Store::OpenForReading(path));
    REMAPLAB_ASSIGN(files.emplace_back(), Merger(source.database(), target.database(), options).Merge());
  }
  REMAPLAB_TRY(transaction.Commit());
  return files;
}

}  // namespace

Result<std::vector<MergedFile>> MergeStores(const std::string& target, std::span<const std::string> sources,
                                            const MergeOptions& options) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(target, ignored);
  for (const std::string& source : sources) {
    if (existed && std::filesystem::equivalent(source, target, ignored)) {
      return Fail(ErrorCode::kUsage, fmt::format("{} is both source and target", source));
    }
  }
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(target));
  Result<std::vector<MergedFile>> files = MergeInto(store, sources, options);
  const Status closed = store.Close();
  if (!files && !existed) {
    std::filesystem::remove(target, ignored);
  }
  if (files && !closed) {
    return Fail(closed.error());
  }
  return files;
}

}  // namespace remaplab
