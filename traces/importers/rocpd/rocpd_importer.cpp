#include "traces/importers/rocpd/rocpd_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/parse.h"
#include "traces/importers/calls/recording_builder.h"

namespace remaplab::calls {
namespace {

constexpr std::string_view kRegionTable = "rocpd_region";

std::vector<std::string> Suffixes(const ForeignDatabase& database) {
  std::vector<std::string> suffixes;
  for (const std::string& table : database.tables()) {
    if (table.starts_with(kRegionTable)) {
      suffixes.push_back(table.substr(kRegionTable.size()));
    }
  }
  return suffixes;
}

// Arguments of the calls that have any use for them, by event.
class Arguments {
 public:
  using Key = std::pair<std::string, int64_t>;  // guid, event

  void Add(Key event, int64_t position, std::string_view value) {
    by_event_[std::move(event)].emplace_back(position, value);
  }
  // In the order of their positions; valid until the next call.
  std::span<const std::string_view> Of(const Key& event) {
    values_.clear();
    const auto entry = by_event_.find(event);
    if (entry != by_event_.end()) {
      std::stable_sort(entry->second.begin(), entry->second.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [position, value] : entry->second) {
        values_.push_back(value);
      }
    }
    return values_;
  }
  bool empty() const { return by_event_.empty(); }

 private:
  std::map<Key, std::vector<std::pair<int64_t, std::string>>> by_event_;
  std::vector<std::string_view> values_;
};

// One set of tables.
class TableSet {
 public:
  TableSet(const ForeignDatabase& database, std::string suffix, RecordingBuilder& builder)
      : database_(database), suffix_(std::move(suffix)), builder_(builder) {}

  struct Counts {
    uint64_t nameless = 0;
    uint64_t instants = 0;
    uint64_t nameless_instants = 0;
    uint64_t ranges = 0;
    bool arguments = false;
  };

  Result<std::string> Version() const;
  Status Check() const;
  Result<Counts> Read();

 private:
  std::string Table(std::string_view name) const { return fmt::format("{}{}", name, suffix_); }
  std::string Sql(std::string_view name) const { return Quoted(Table(name)); }
  bool HasSamples() const {
    return database_.HasTable(Table("rocpd_sample")) && database_.HasTable(Table("rocpd_track"));
  }
  Status ReadArguments();
  Status ReadRegions();
  Status ReadSamples();
  // Rows of: id, guid, start, end, name, category, pid, tid, event.
  Status AddCall(const ForeignDatabase::Rows& row, std::string_view table);
  Status ReadHandles();

  const ForeignDatabase& database_;
  std::string suffix_;
  RecordingBuilder& builder_;
  Arguments arguments_;
  Counts counts_;
  bool has_create_calls_ = false;
};

Result<std::string> TableSet::Version() const {
  REMAPLAB_TRY(database_.Require(Table("rocpd_metadata"), {"tag", "value"}));
  REMAPLAB_ASSIGN(auto rows, database_.Query(fmt::format("SELECT value FROM {} WHERE tag = 'schema_version'",
                                                         Sql("rocpd_metadata"))));
  REMAPLAB_ASSIGN(const bool there, rows.Next());
  if (!there) {
    return Fail(ErrorCode::kInput,
                fmt::format("{}: the table {} has no schema_version", database_.path(), Table("rocpd_metadata")));
  }
  return std::string(rows.Text(0));
}

Status TableSet::Check() const {
  REMAPLAB_ASSIGN(const std::string version, Version());
  const Result<uint64_t> major = ParseUInt(std::string_view(version).substr(0, version.find('.')), "schema_version");
  if (!major) {
    return Fail(ErrorCode::kInput, fmt::format("{}: the table {} has the schema_version '{}', which is no number",
                                               database_.path(), Table("rocpd_metadata"), version));
  }
  if (*major != kRocpdSchema) {
    return Fail(ErrorCode::kInput,
                fmt::format("{}: rocpd schema {} is {} than schema {}, which is what can be read; "
                            "convert it to CSV with the rocpd of the ROCm that wrote it",
                            database_.path(), version, *major > kRocpdSchema ? "newer" : "older", kRocpdSchema));
  }
  REMAPLAB_TRY(
      database_.Require(Table(kRegionTable), {"id", "guid", "pid", "tid", "start", "end", "name_id", "event_id"}));
  REMAPLAB_TRY(database_.Require(Table("rocpd_string"), {"id", "guid", "string"}));
  REMAPLAB_TRY(database_.Require(Table("rocpd_event"), {"id", "guid", "category_id"}));
  REMAPLAB_TRY(database_.Require(Table("rocpd_arg"), {"guid", "event_id", "position", "value"}));
  REMAPLAB_TRY(database_.Require(Table("rocpd_info_process"), {"id", "guid", "pid"}));
  if (HasSamples()) {
    REMAPLAB_TRY(database_.Require(Table("rocpd_sample"), {"id", "guid", "track_id", "timestamp", "event_id"}));
    REMAPLAB_TRY(database_.Require(Table("rocpd_track"), {"id", "guid", "pid", "tid", "name_id"}));
  }
  return database_.Require(Table("rocpd_info_thread"), {"id", "guid", "tid"});
}

Result<TableSet::Counts> TableSet::Read() {
  REMAPLAB_TRY(ReadArguments());
  REMAPLAB_TRY(ReadRegions());
  REMAPLAB_TRY(ReadSamples());
  if (!has_create_calls_) {
    REMAPLAB_TRY(ReadHandles());
  }
  counts_.arguments = !arguments_.empty();
  return counts_;
}

// Only for functions that are calls of some kind: kernel launches have many arguments and there are many of them.
Status TableSet::ReadArguments() {
  std::string wanted;
  REMAPLAB_ASSIGN(auto names, database_.Query(fmt::format("SELECT DISTINCT string FROM {}", Sql("rocpd_string"))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, names.Next());
    if (!more) {
      break;
    }
    const std::string_view name = names.Text(0);
    const Role role = FindFunction(name).role;
    if (role != Role::kOther && role != Role::kNested) {
      wanted += fmt::format("{}'{}'", wanted.empty() ? "" : ",", name);
    }
  }
  const auto read = [&](const std::string& sql) -> Status {
    REMAPLAB_ASSIGN(auto rows, database_.Query(sql));
    while (true) {
      REMAPLAB_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      const std::optional<int64_t> event = rows.Int(1);
      if (event) {
        arguments_.Add({std::string(rows.Text(0)), *event}, rows.Int(2).value_or(0), rows.Text(3));
      }
    }
  };
  REMAPLAB_TRY(
      read(fmt::format("SELECT a.guid, a.event_id, a.position, a.value FROM {} r "
                       "JOIN {} s ON s.id = r.name_id AND s.guid = r.guid "
                       "JOIN {} a ON a.event_id = r.event_id AND a.guid = r.guid WHERE s.string IN ({})",
                       Sql(kRegionTable), Sql("rocpd_string"), Sql("rocpd_arg"), wanted)));
  if (!HasSamples()) {
    return {};
  }
  return read(
      fmt::format("SELECT a.guid, a.event_id, a.position, a.value FROM {} m "
                  "JOIN {} k ON k.id = m.track_id AND k.guid = m.guid "
                  "JOIN {} s ON s.id = k.name_id AND s.guid = m.guid "
                  "JOIN {} a ON a.event_id = m.event_id AND a.guid = m.guid WHERE s.string IN ({})",
                  Sql("rocpd_sample"), Sql("rocpd_track"), Sql("rocpd_string"), Sql("rocpd_arg"), wanted));
}

Status TableSet::ReadRegions() {
  REMAPLAB_ASSIGN(auto rows,
                  database_.Query(fmt::format(
                      "SELECT r.id, r.guid, r.start, r.\"end\", s.string, c.string, p.pid, t.tid, r.event_id FROM {} r "
                      "LEFT JOIN {} s ON s.id = r.name_id AND s.guid = r.guid "
                      "LEFT JOIN {} e ON e.id = r.event_id AND e.guid = r.guid "
                      "LEFT JOIN {} c ON c.id = e.category_id AND c.guid = e.guid "
                      "LEFT JOIN {} p ON p.id = r.pid AND p.guid = r.guid "
                      "LEFT JOIN {} t ON t.id = r.tid AND t.guid = r.guid",
                      Sql(kRegionTable), Sql("rocpd_string"), Sql("rocpd_event"), Sql("rocpd_string"),
                      Sql("rocpd_info_process"), Sql("rocpd_info_thread"))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    if (rows.Text(4).empty()) {
      ++counts_.nameless;
      continue;
    }
    REMAPLAB_TRY(AddCall(rows, kRegionTable));
  }
}

// A call that began and ended within one tick of the clock is a sample. Its function is the name of its track where the
// writer put it there; some writers put the category there, and then nobody knows which function it was.
Status TableSet::ReadSamples() {
  if (!HasSamples()) {
    return {};
  }
  REMAPLAB_ASSIGN(
      auto rows,
      database_.Query(fmt::format(
          "SELECT m.id, m.guid, m.timestamp, m.timestamp, s.string, c.string, p.pid, t.tid, m.event_id FROM {} m "
          "JOIN {} k ON k.id = m.track_id AND k.guid = m.guid "
          "LEFT JOIN {} s ON s.id = k.name_id AND s.guid = m.guid "
          "JOIN {} e ON e.id = m.event_id AND e.guid = m.guid "
          "LEFT JOIN {} c ON c.id = e.category_id AND c.guid = e.guid "
          "LEFT JOIN {} p ON p.id = k.pid AND p.guid = m.guid "
          "LEFT JOIN {} t ON t.id = k.tid AND t.guid = m.guid",
          Sql("rocpd_sample"), Sql("rocpd_track"), Sql("rocpd_string"), Sql("rocpd_event"), Sql("rocpd_string"),
          Sql("rocpd_info_process"), Sql("rocpd_info_thread"))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    if (IsApiFunction(rows.Text(4))) {
      ++counts_.instants;
      REMAPLAB_TRY(AddCall(rows, "rocpd_sample"));
    } else if (rows.Text(5).starts_with("HIP_RUNTIME")) {
      ++counts_.nameless_instants;
    }
  }
}

Status TableSet::AddCall(const ForeignDatabase::Rows& row, std::string_view table) {
  const std::string_view name = row.Text(4);
  const Function function = FindFunction(name);
  const bool is_call = IsApiFunction(name) || function.role == Role::kNested;
  if (!is_call || row.Text(5).starts_with("MARKER")) {
    ++counts_.ranges;
    return {};
  }
  const auto where = [&] {
    return fmt::format("{}: the table {}, id {}", database_.path(), Table(table), row.Text(0));
  };
  const std::optional<int64_t> start = row.Int(2);
  const std::optional<int64_t> end = row.Int(3);
  if (!start || !end) {
    return Fail(ErrorCode::kInput, fmt::format("{}: start and end are not both whole numbers", where()));
  }
  Observed call{.name = name, .start = *start, .end = *end};
  call.pid = static_cast<uint64_t>(row.Int(6).value_or(0));
  call.tid = static_cast<uint64_t>(row.Int(7).value_or(0));
  if (const std::optional<int64_t> event = row.Int(8)) {
    call.arguments = arguments_.Of({std::string(row.Text(1)), *event});
  }
  has_create_calls_ |=
      function.role == Role::kCall && (function.kind == CallKind::kCreate || function.kind == CallKind::kRelease);
  const Status added = builder_.Add(call);
  return added ? Status() : Status(Fail(Error(added.error()).WithContext(where())));
}

// Without a trace of HIP's calls the allocation trace still has the handles that were made and given back.
Status TableSet::ReadHandles() {
  const std::string table = Table("rocpd_memory_allocate");
  if (!database_.HasTable(table)) {
    return {};
  }
  REMAPLAB_TRY(database_.Require(table, {"id", "guid", "pid", "tid", "type", "level", "start", "end", "size"}));
  REMAPLAB_ASSIGN(auto rows,
                  database_.Query(fmt::format("SELECT m.id, m.start, m.\"end\", m.type, m.size, p.pid, t.tid FROM {} m "
                                              "LEFT JOIN {} p ON p.id = m.pid AND p.guid = m.guid "
                                              "LEFT JOIN {} t ON t.id = m.tid AND t.guid = m.guid "
                                              "WHERE m.level = 'VIRTUAL' AND m.type IN ('ALLOC', 'FREE')",
                                              Quoted(table), Sql("rocpd_info_process"), Sql("rocpd_info_thread"))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    const auto where = [&] { return fmt::format("{}: the table {}, id {}", database_.path(), table, rows.Text(0)); };
    if (!rows.Int(1) || !rows.Int(2)) {
      return Fail(ErrorCode::kInput, fmt::format("{}: start and end are not both whole numbers", where()));
    }
    const bool alloc = rows.Text(3) == "ALLOC";
    Observed call{.name = alloc ? "hipMemCreate" : "hipMemRelease", .start = *rows.Int(1), .end = *rows.Int(2)};
    call.pid = static_cast<uint64_t>(rows.Int(5).value_or(0));
    call.tid = static_cast<uint64_t>(rows.Int(6).value_or(0));
    const std::optional<int64_t> size = rows.Int(4);
    if (alloc && size && *size > 0) {
      call.size = static_cast<uint64_t>(*size);
    }
    const Status added = builder_.Add(call);
    if (!added) {
      return Fail(Error(added.error()).WithContext(where()));
    }
  }
}

}  // namespace

bool LooksLikeRocpd(const ForeignDatabase& database) { return !Suffixes(database).empty(); }

Result<CallRecording> ImportRocpd(const ForeignDatabase& database) {
  RecordingBuilder builder;
  TableSet::Counts all;
  std::string version;
  for (const std::string& suffix : Suffixes(database)) {
    TableSet tables(database, suffix, builder);
    REMAPLAB_TRY(tables.Check());
    REMAPLAB_ASSIGN(version, tables.Version());
    REMAPLAB_ASSIGN(const TableSet::Counts counts, tables.Read());
    all.nameless += counts.nameless;
    all.instants += counts.instants;
    all.nameless_instants += counts.nameless_instants;
    all.ranges += counts.ranges;
    all.arguments |= counts.arguments;
  }
  CallRecording recording = builder.Finish();
  recording.source = "rocpd";
  recording.source_version = version;
  recording.clock = "the profiler's clock, ns";
  const auto lose = [&](uint64_t count, std::string text) { recording.losses.push_back({count, std::move(text)}); };
  lose(0, "rocpd does not keep what calls returned, so failed calls cannot be told");
  lose(0, "pointer arguments are not followed: the devices of a set_access are counted, not named");
  if (!all.arguments) {
    lose(0, "no arguments were recorded: no addresses, sizes or devices");
  }
  if (all.nameless > 0) {
    lose(all.nameless, "regions have no name in rocpd_string");
  }
  if (all.instants > 0) {
    lose(all.instants, "calls began and ended within one tick and last 0 ns");
  }
  if (all.nameless_instants > 0) {
    lose(all.nameless_instants, "HIP calls within one tick have no function name and are not counted");
  }
  if (all.ranges > 0) {
    lose(all.ranges, "regions are markers or calls of other libraries and are left out");
  }
  return recording;
}

}  // namespace remaplab::calls
