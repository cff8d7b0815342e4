// Recordings as their tools write them: SQLite files made with SQL, logs line by line.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "tests/traces/trace_testing.h"
#include "traces/call_recording.h"
#include "traces/importers/calls/call_importers.h"

namespace remaplab {

// Runs `sql` on the database at `path`, which is made when it is not there.
inline void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  BOOST_REQUIRE_EQUAL(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  const std::string fast = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;";
  const int rc = sqlite3_exec(handle, (fast + sql).c_str(), nullptr, nullptr, &message);
  BOOST_REQUIRE_MESSAGE(rc == SQLITE_OK, (message == nullptr ? "" : message));
  sqlite3_close(handle);
}

// rocpd schema 3, the tables and columns that the format has (hip-vmm.md 5.3), for one uuid.
inline std::string RocpdSchema(std::string_view suffix, std::string_view guid, std::string_view version = "3") {
  std::string sql;
  const auto table = [&](std::string_view name, std::string_view columns) {
    sql +=
        fmt::format("CREATE TABLE \"rocpd_{}{}\" (\"id\" INTEGER NOT NULL, \"guid\" TEXT DEFAULT '{}' NOT NULL, {});\n",
                    name, suffix, guid, columns);
    sql += fmt::format("CREATE VIEW IF NOT EXISTS \"rocpd_{}\" AS SELECT * FROM \"rocpd_{}{}\";\n", name, name, suffix);
  };
  sql += fmt::format(
      "CREATE TABLE \"rocpd_metadata{}\" (\"id\" INTEGER PRIMARY KEY, \"tag\" TEXT, \"value\" TEXT);\n"
      "INSERT INTO \"rocpd_metadata{}\" (\"tag\", \"value\") VALUES ('schema_version', '{}'), ('guid', '{}');\n",
      suffix, suffix, version, guid);
  table("string", "\"string\" TEXT NOT NULL");
  table("info_process", "\"nid\" INTEGER, \"ppid\" INTEGER, \"pid\" INTEGER NOT NULL");
  table("info_thread", "\"nid\" INTEGER, \"ppid\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER NOT NULL");
  table("track", "\"nid\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER, \"name_id\" INTEGER");
  table("event", "\"category_id\" INTEGER, \"stack_id\" INTEGER, \"correlation_id\" INTEGER");
  table("arg", "\"event_id\" INTEGER, \"position\" INTEGER, \"type\" TEXT, \"name\" TEXT, \"value\" TEXT");
  table("region",
        "\"nid\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER, \"start\" BIGINT, \"end\" BIGINT, "
        "\"name_id\" INTEGER, \"event_id\" INTEGER");
  table("sample", "\"track_id\" INTEGER, \"timestamp\" BIGINT, \"event_id\" INTEGER");
  table("memory_allocate",
        "\"nid\" INTEGER, \"pid\" INTEGER, \"tid\" INTEGER, \"agent_id\" INTEGER, \"type\" TEXT, "
        "\"level\" TEXT, \"start\" BIGINT, \"end\" BIGINT, \"address\" INTEGER, \"size\" INTEGER");
  return sql;
}

// Rows of one guid in tables of one suffix, with ids counted up from 1 for each guid.
class RocpdRows {
 public:
  RocpdRows(std::string suffix, std::string guid) : suffix_(std::move(suffix)), guid_(std::move(guid)) {
    sql_ += Insert("info_process", "id, pid", "7, 4711");
    sql_ += Insert("info_thread", "id, pid, tid", "8, 7, 4712");
    sql_ += Insert("info_thread", "id, pid, tid", "9, 7, 4713");
    category_ = String("HIP_RUNTIME_API_EXT");
  }

  int String(std::string_view text) {
    sql_ += Insert("string", "id, string", fmt::format("{}, '{}'", ++strings_, text));
    return strings_;
  }

  RocpdRows& Region(std::string_view name, int64_t start, int64_t end, const std::vector<std::string>& arguments = {},
                    int thread = 8) {
    const int event = Event(arguments, category_);
    sql_ += Insert("region", "id, pid, tid, start, \"end\", name_id, event_id",
                   fmt::format("{}, 7, {}, {}, {}, {}, {}", event, thread, start, end, String(name), event));
    return *this;
  }

  RocpdRows& Marker(std::string_view name, int64_t start, int64_t end) {
    const int event = Event({}, String("MARKER_CORE_RANGE_API"));
    sql_ += Insert("region", "id, pid, tid, start, \"end\", name_id, event_id",
                   fmt::format("{}, 7, 8, {}, {}, {}, {}", event, start, end, String(name), event));
    return *this;
  }

  RocpdRows& Sample(std::string_view track, int64_t at, const std::vector<std::string>& arguments = {}) {
    const int event = Event(arguments, category_);
    sql_ += Insert("track", "id, pid, tid, name_id", fmt::format("{}, 7, 8, {}", event, String(track)));
    sql_ +=
        Insert("sample", "id, track_id, timestamp, event_id", fmt::format("{}, {}, {}, {}", event, event, at, event));
    return *this;
  }

  RocpdRows& Handle(std::string_view type, std::string_view level, int64_t start, int64_t end, uint64_t size) {
    sql_ += Insert("memory_allocate", "id, pid, tid, type, level, start, \"end\", size",
                   fmt::format("{}, 7, 8, '{}', '{}', {}, {}, {}", ++events_, type, level, start, end, size));
    return *this;
  }

  const std::string& sql() const { return sql_; }

 private:
  std::string Insert(std::string_view table, std::string_view columns, std::string_view values) {
    return fmt::format("INSERT INTO \"rocpd_{}{}\" (guid, {}) VALUES ('{}', {});\n", table, suffix_, columns, guid_,
                       values);
  }

  // Arguments are written last to first: their order is that of their positions, not of their rows.
  int Event(const std::vector<std::string>& arguments, int category) {
    ++events_;
    sql_ += Insert("event", "id, category_id, stack_id", fmt::format("{}, {}, {}", events_, category, events_));
    for (size_t i = arguments.size(); i-- > 0;) {
      sql_ += Insert("arg", "id, event_id, position, type, name, value",
                     fmt::format("{}, {}, {}, 't', 'n{}', '{}'", ++arguments_, events_, i, i, arguments[i]));
    }
    return events_;
  }

  std::string suffix_;
  std::string guid_;
  std::string sql_;
  int strings_ = 0;
  int events_ = 0;
  int arguments_ = 0;
  int category_ = 0;
};

inline std::vector<std::string_view> NamesOf(const CallRecording& recording) {
  std::vector<std::string_view> names;
  for (const DriverCall& call : recording.calls) {
    names.push_back(recording.texts[call.name]);
  }
  return names;
}

inline bool HasLoss(const CallRecording& recording, std::string_view words, uint64_t count = 0) {
  for (const CallRecording::Loss& loss : recording.losses) {
    if (loss.text.find(words) != std::string::npos) {
      BOOST_TEST(loss.count == count);
      return true;
    }
  }
  return false;
}

// The message of the error that reading `path` gives.
inline std::string ErrorOf(const std::string& path) {
  const Result<CallRecording> recording = ImportCalls(path);
  BOOST_REQUIRE_MESSAGE(!recording.has_value(), "it was read");
  return recording.error().message();
}

inline bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline CallTotal TotalOf(const CallRecording& recording, CallKind kind) {
  return TotalsByKind(recording)[static_cast<size_t>(kind)];
}

}  // namespace remaplab
