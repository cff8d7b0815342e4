#include "traces/importers/nsys/nsys_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "traces/importers/calls/recording_builder.h"

namespace remaplab::calls {
namespace {

constexpr std::string_view kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kNames = "StringIds";
constexpr int64_t kDeviceToDevice = 8;  // CUpti_ActivityMemcpyKind

// Thread and process are packed into one number.
uint64_t PidOf(int64_t global) { return (static_cast<uint64_t>(global) >> 24) & 0xffffff; }
uint64_t TidOf(int64_t global) { return static_cast<uint64_t>(global) & 0xffffff; }

// What the GPU or the driver did for a call.
struct Activity {
  std::optional<int32_t> device;
  std::optional<uint64_t> size;
  std::optional<bool> device_to_device;
};
using Activities = std::map<std::pair<uint64_t, int64_t>, Activity>;  // by pid and correlation

class Importer {
 public:
  explicit Importer(const ForeignDatabase& database) : database_(database) {}
  Result<CallRecording> Import();

 private:
  // An expression for `column`, NULL where the export has no such column.
  Result<std::string> Optional(std::string_view table, std::string_view column) const;
  Status ReadActivities(std::string_view table, bool copies);
  Status ReadMemory();
  Status ReadCalls();
  Result<std::string> Version() const;

  const ForeignDatabase& database_;
  Activities activities_;
  RecordingBuilder builder_;
  uint64_t nameless_ = 0;
  uint64_t unfinished_ = 0;
  uint64_t untimed_ = 0;
};

Result<std::string> Importer::Optional(std::string_view table, std::string_view column) const {
  REMAPLAB_ASSIGN(const std::vector<std::string> columns, database_.Columns(table));
  const bool there = std::find(columns.begin(), columns.end(), column) != columns.end();
  return there ? Quoted(column) : std::string("NULL");
}

Status Importer::ReadActivities(std::string_view table, bool copies) {
  if (!database_.HasTable(table)) {
    return {};
  }
  REMAPLAB_TRY(database_.Require(table, {"correlationId", "deviceId", "globalPid"}));
  if (copies) {
    REMAPLAB_TRY(database_.Require(table, {"bytes", "copyKind"}));
  }
  REMAPLAB_ASSIGN(auto rows, database_.Query(fmt::format("SELECT globalPid, correlationId, deviceId, {} FROM {}",
                                                         copies ? "bytes, copyKind" : "NULL, NULL", Quoted(table))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    if (!rows.Int(0) || !rows.Int(1)) {
      continue;
    }
    Activity& activity = activities_[{PidOf(*rows.Int(0)), *rows.Int(1)}];
    const std::optional<int64_t> device = rows.Int(2);
    if (device && *device >= 0 && *device < 0xffff) {
      activity.device = static_cast<int32_t>(*device);
    }
    if (copies && rows.Int(3) && *rows.Int(3) >= 0) {
      activity.size = static_cast<uint64_t>(*rows.Int(3));
      activity.device_to_device = rows.Int(4) == kDeviceToDevice;
    }
  }
}

// --cuda-memory-usage: sizes of what calls allocated, in exports new enough to say which call it was.
Status Importer::ReadMemory() {
  constexpr std::string_view kTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";
  if (!database_.HasTable(kTable)) {
    return {};
  }
  REMAPLAB_ASSIGN(const std::string correlation, Optional(kTable, "correlationId"));
  if (correlation == "NULL") {
    return {};
  }
  REMAPLAB_TRY(database_.Require(kTable, {"globalPid", "deviceId", "bytes"}));
  REMAPLAB_ASSIGN(auto rows,
                  database_.Query(fmt::format("SELECT globalPid, correlationId, deviceId, bytes FROM {}", kTable)));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    if (!rows.Int(0) || !rows.Int(1) || *rows.Int(1) == 0) {
      continue;  // 0 stands for "no call"
    }
    Activity& activity = activities_[{PidOf(*rows.Int(0)), *rows.Int(1)}];
    if (rows.Int(2) && *rows.Int(2) >= 0 && *rows.Int(2) < 0xffff) {
      activity.device = static_cast<int32_t>(*rows.Int(2));
    }
    if (rows.Int(3) && *rows.Int(3) > 0) {
      activity.size = static_cast<uint64_t>(*rows.Int(3));
    }
  }
}

Status Importer::ReadCalls() {
  REMAPLAB_ASSIGN(const std::string correlation, Optional(kCalls, "correlationId"));
  REMAPLAB_ASSIGN(const std::string returned, Optional(kCalls, "returnValue"));
  REMAPLAB_ASSIGN(const std::string thread, Optional(kCalls, "globalTid"));
  REMAPLAB_ASSIGN(auto rows,
                  database_.Query(fmt::format("SELECT r.rowid, r.start, r.\"end\", {}, {}, {}, s.value FROM {} r "
                                              "LEFT JOIN {} s ON s.id = r.nameId",
                                              thread, correlation, returned, kCalls, kNames)));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    const std::string_view name = rows.Text(6);
    if (name.empty()) {
      ++nameless_;
      continue;
    }
    const auto where = [&] { return fmt::format("{}: the table {}, row {}", database_.path(), kCalls, rows.Text(0)); };
    const std::optional<int64_t> start = rows.Int(1);
    if (!start) {
      return Fail(ErrorCode::kInput, fmt::format("{}: start is not a whole number", where()));
    }
    const std::optional<int64_t> end = rows.Int(2);
    Observed call{.name = name, .start = *start, .end = end.value_or(*start), .timed = end.has_value()};
    unfinished_ += end ? 0 : 1;
    if (call.start == 0 && call.end == 0) {
      call.timed = false;  // CUPTI's way to say that it had no times
      ++untimed_;
    }
    const int64_t global = rows.Int(3).value_or(0);
    call.pid = PidOf(global);
    call.tid = TidOf(global);
    call.code = rows.Text(5);
    if (rows.Int(4)) {
      const auto activity = activities_.find({call.pid, *rows.Int(4)});
      if (activity != activities_.end()) {
        call.device = activity->second.device;
        call.size = activity->second.size;
        call.device_to_device = activity->second.device_to_device;
      }
    }
    const Status added = builder_.Add(call);
    if (!added) {
      return Fail(Error(added.error()).WithContext(where()));
    }
  }
}

Result<std::string> Importer::Version() const {
  constexpr std::string_view kTable = "META_DATA_EXPORT";
  if (!database_.HasTable(kTable)) {
    return std::string();
  }
  REMAPLAB_TRY(database_.Require(kTable, {"name", "value"}));
  REMAPLAB_ASSIGN(auto rows,
                  database_.Query(fmt::format("SELECT value FROM {} WHERE name = 'EXPORT_SCHEMA_VERSION'", kTable)));
  REMAPLAB_ASSIGN(const bool there, rows.Next());
  return there ? std::string(rows.Text(0)) : std::string();
}

Result<CallRecording> Importer::Import() {
  if (!database_.HasTable(kCalls)) {
    return Fail(ErrorCode::kInput, fmt::format("{}: the table {} is missing: no CUDA calls were recorded; profile with "
                                               "`nsys profile --trace=cuda`",
                                               database_.path(), kCalls));
  }
  REMAPLAB_TRY(database_.Require(kCalls, {"start", "end", "nameId"}));
  REMAPLAB_TRY(database_.Require(kNames, {"id", "value"}));
  REMAPLAB_TRY(ReadActivities("CUPTI_ACTIVITY_KIND_MEMCPY", true));
  REMAPLAB_TRY(ReadActivities("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", false));
  REMAPLAB_TRY(ReadMemory());
  REMAPLAB_TRY(ReadCalls());
  REMAPLAB_ASSIGN(std::string version, Version());
  CallRecording recording = builder_.Finish();
  recording.source = "nsys";
  recording.source_version = std::move(version);
  recording.clock = "since the profiling session began, ns";
  recording.losses.push_back({0,
                              "nsys records no arguments: no addresses, and sizes only of copies and of allocations "
                              "that --cuda-memory-usage saw"});
  const auto lose = [&](uint64_t count, std::string text) {
    if (count > 0) {
      recording.losses.push_back({count, std::move(text)});
    }
  };
  lose(nameless_, "calls have no name in StringIds");
  lose(unfinished_, "calls had not ended when the recording did, and have no duration");
  lose(untimed_, "calls have no times");
  return recording;
}

}  // namespace

bool LooksLikeNsys(const ForeignDatabase& database) {
  const auto is_marked = [](const std::string& table) {
    return table.starts_with("CUPTI_ACTIVITY_KIND_") || table.starts_with("TARGET_INFO_") ||
           table == "META_DATA_EXPORT" || table == "ANALYSIS_DETAILS";
  };
  return database.HasTable(kNames) && std::any_of(database.tables().begin(), database.tables().end(), is_marked);
}

Result<CallRecording> ImportNsys(const ForeignDatabase& database) { return Importer(database).Import(); }

}  // namespace remaplab::calls
