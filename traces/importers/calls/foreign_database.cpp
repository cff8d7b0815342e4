#include "traces/importers/calls/foreign_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

namespace remaplab::calls {
namespace {

constexpr int kLongestValue = 16 << 20;  // bytes: no name or argument comes near
constexpr int kPatienceMs = 2000;

// SQLite keeps locks and side files for a database that somebody may be writing. One without side files is at rest, and
// is read as it is, so that reading it works in a read-only folder and leaves nothing there.
std::string Uri(const std::string& path) {
  const auto is_there = [&path](const char* suffix) {
    std::error_code error;
    return std::filesystem::exists(path + suffix, error);
  };
  std::string uri = "file:";
  for (const char c : std::filesystem::path(path).lexically_normal().string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + (is_there("-wal") || is_there("-journal") ? "?mode=ro" : "?mode=ro&immutable=1");
}

}  // namespace

bool IsSqlite(std::string_view head) { return head.starts_with(std::string_view("SQLite format 3\0", 16)); }

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + '"';
}

void ForeignDatabase::Rows::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void ForeignDatabase::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }

Result<bool> ForeignDatabase::Rows::Next() {
  const int rc = sqlite3_step(statement_.get());
  if (rc == SQLITE_ROW) {
    return true;
  }
  if (rc == SQLITE_DONE) {
    return false;
  }
  return Fail(database_->LastError());
}

std::optional<int64_t> ForeignDatabase::Rows::Int(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) {
    return std::nullopt;
  }
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view ForeignDatabase::Rows::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) {
    return {};
  }
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<ForeignDatabase> ForeignDatabase::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int rc = sqlite3_open_v2(Uri(path).c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  ForeignDatabase database(path, handle);
  if (rc != SQLITE_OK) {
    return Fail(database.LastError());
  }
  sqlite3_busy_timeout(handle, kPatienceMs);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
  REMAPLAB_TRY(database.ReadTables());
  return database;
}

Status ForeignDatabase::ReadTables() {
  REMAPLAB_ASSIGN(Rows rows, Query("SELECT name FROM sqlite_schema WHERE type = 'table' "
                                   "AND sql LIKE 'CREATE TABLE%' ORDER BY name"));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return {};
    }
    tables_.emplace_back(rows.Text(0));
  }
}

bool ForeignDatabase::HasTable(std::string_view name) const {
  return std::find(tables_.begin(), tables_.end(), name) != tables_.end();
}

Result<std::vector<std::string>> ForeignDatabase::Columns(std::string_view table) const {
  std::vector<std::string> columns;
  REMAPLAB_ASSIGN(Rows rows, Query(fmt::format("PRAGMA table_info({})", Quoted(table))));
  while (true) {
    REMAPLAB_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return columns;
    }
    columns.emplace_back(rows.Text(1));
  }
}

Status ForeignDatabase::Require(std::string_view table, const std::vector<std::string_view>& columns) const {
  if (!HasTable(table)) {
    return Fail(ErrorCode::kInput, fmt::format("{}: the table {} is missing", path_, table));
  }
  REMAPLAB_ASSIGN(const std::vector<std::string> present, Columns(table));
  for (const std::string_view column : columns) {
    if (std::find(present.begin(), present.end(), column) == present.end()) {
      return Fail(ErrorCode::kInput, fmt::format("{}: the table {} has no column {}", path_, table, column));
    }
  }
  return {};
}

Result<ForeignDatabase::Rows> ForeignDatabase::Query(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return Fail(LastError());
  }
  return Rows(this, statement);
}

Error ForeignDatabase::LastError() const {
  const int rc = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_.get()) & 0xff;
  switch (rc) {
    case SQLITE_NOMEM:
      return Error(ErrorCode::kOutOfMemory, fmt::format("{}: out of memory", path_));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(ErrorCode::kIo,
                   fmt::format("{}: is being written by another process; try again when it is done", path_));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Error(ErrorCode::kIo, fmt::format("{}: cannot be read ({})", path_, sqlite3_errmsg(handle_.get())));
    case SQLITE_NOTADB:
      return Error(ErrorCode::kInput, fmt::format("{}: is not an SQLite file", path_));
    default:
      return Error(ErrorCode::kInput,
                   fmt::format("{}: is damaged or was cut off ({})", path_, sqlite3_errmsg(handle_.get())));
  }
}

}  // namespace remaplab::calls
