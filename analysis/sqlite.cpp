#include "analysis/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace remaplab {
namespace {

ErrorCode CodeOf(int rc) {
  switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kInput;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      return ErrorCode::kUsage;
    case SQLITE_INTERRUPT:
      return ErrorCode::kInterrupted;
    case SQLITE_NOMEM:
      return ErrorCode::kOutOfMemory;
    default:
      return ErrorCode::kIo;
  }
}

std::string Explain(int rc, const char* text) {
  switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "is locked by another process; try again when it is done";
    case SQLITE_READONLY:
      return "is read-only";
    case SQLITE_CORRUPT:
      return fmt::format("is damaged ({})", text);
    case SQLITE_NOTADB:
      return "is not an SQLite file";
    case SQLITE_FULL:
      return "no space left on the device";
    case SQLITE_CANTOPEN:
      return fmt::format("cannot be opened ({})", text);
    default:
      return text;
  }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(handle_, other.handle_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::Bind(int parameter, int64_t value) {
  sqlite3_bind_int64(handle_, parameter, value);
  return *this;
}

Statement& Statement::Bind(int parameter, std::string_view value) {
  // A null pointer would bind NULL, which an empty text is not.
  sqlite3_bind_text64(handle_, parameter, value.empty() ? "" : value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

Statement& Statement::Bind(int parameter, std::optional<int64_t> value) {
  return value ? Bind(parameter, *value) : BindNull(parameter);
}

Statement& Statement::BindDouble(int parameter, double value) {
  sqlite3_bind_double(handle_, parameter, value);
  return *this;
}

Statement& Statement::BindNull(int parameter) {
  sqlite3_bind_null(handle_, parameter);
  return *this;
}

Statement& Statement::BindColumn(int parameter, const Statement& from, int column) {
  sqlite3_bind_value(handle_, parameter, sqlite3_column_value(from.handle_, column));
  return *this;
}

Result<bool> Statement::Step() {
  const int rc = sqlite3_step(handle_);
  if (rc == SQLITE_ROW) {
    return true;
  }
  if (rc == SQLITE_DONE) {
    sqlite3_reset(handle_);
    return false;
  }
  Error error = database_->LastError("");
  sqlite3_reset(handle_);
  return Fail(std::move(error));
}

Status Statement::Run() {
  while (true) {
    REMAPLAB_ASSIGN(const bool row, Step());
    if (!row) {
      return {};
    }
  }
}

void Statement::Reset() { sqlite3_reset(handle_); }

int Statement::columns() const { return sqlite3_column_count(handle_); }
std::string_view Statement::ColumnName(int column) const { return sqlite3_column_name(handle_, column); }
bool Statement::IsNull(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
bool Statement::IsInteger(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_INTEGER; }
bool Statement::IsReal(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_FLOAT; }
int64_t Statement::Int(int column) const { return sqlite3_column_int64(handle_, column); }
std::optional<int64_t> Statement::MaybeInt(int column) const {
  return IsNull(column) ? std::nullopt : std::optional<int64_t>(Int(column));
}
double Statement::Double(int column) const { return sqlite3_column_double(handle_, column); }
std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
}
bool Statement::read_only() const { return sqlite3_stmt_readonly(handle_) != 0; }

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode,
                                                 std::chrono::milliseconds patience) {
  const int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int rc = sqlite3_open_v2(mode == Mode::kTemporary ? "" : path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (rc != SQLITE_OK) {
    return Fail(database->LastError(""));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  REMAPLAB_TRY(database->Execute("PRAGMA foreign_keys = ON"));
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

Result<Statement> Database::Prepare(std::string_view sql, std::string_view* rest) {
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  const int rc = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &handle, &tail);
  if (rc != SQLITE_OK) {
    return Fail(LastError(""));
  }
  if (handle == nullptr) {
    return Fail(ErrorCode::kUsage, "the SQL text holds no statement");
  }
  if (rest != nullptr) {
    *rest = sql.substr(static_cast<size_t>(tail - sql.data()));
  }
  return Statement(this, handle);
}

Status Database::Execute(std::string_view sql) {
  const int rc = sqlite3_exec(handle_, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) {
    return Fail(LastError(""));
  }
  return {};
}

Result<int64_t> Database::QueryInt(std::string_view sql) {
  REMAPLAB_ASSIGN(Statement statement, Prepare(sql));
  REMAPLAB_ASSIGN(const bool row, statement.Step());
  if (!row) {
    return Fail(ErrorCode::kInternal, fmt::format("{}: no row for '{}'", path_, sql));
  }
  return statement.Int(0);
}

Result<std::string> Database::QueryText(std::string_view sql) {
  REMAPLAB_ASSIGN(Statement statement, Prepare(sql));
  REMAPLAB_ASSIGN(const bool row, statement.Step());
  if (!row) {
    return Fail(ErrorCode::kInternal, fmt::format("{}: no row for '{}'", path_, sql));
  }
  return std::string(statement.Text(0));
}

int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }
int64_t Database::changes() const { return sqlite3_changes64(handle_); }
bool Database::read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

Error Database::LastError(std::string_view doing) const {
  if (handle_ == nullptr) {
    return Error(ErrorCode::kOutOfMemory, fmt::format("{}: out of memory", path_));
  }
  const int rc = sqlite3_errcode(handle_);
  std::string message = fmt::format("{}: {}", path_, Explain(rc, sqlite3_errmsg(handle_)));
  if (!doing.empty()) {
    message += fmt::format(" while {}", doing);
  }
  return Error(CodeOf(rc), std::move(message));
}

Result<Transaction> Transaction::Begin(Database& database) {
  REMAPLAB_TRY(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    (void)database_->Execute("ROLLBACK");
  }
}

Status Transaction::Commit() {
  REMAPLAB_TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

Result<BulkInsert> BulkInsert::Prepare(Database& database, std::string_view table, std::string_view columns) {
  BulkInsert insert;
  insert.columns_ = static_cast<int>(std::count(columns.begin(), columns.end(), ',')) + 1;
  std::string row = "(?";
  for (int i = 1; i < insert.columns_; ++i) {
    row += ",?";
  }
  row += ')';
  std::string sql = fmt::format("INSERT INTO {} ({}) VALUES {}", table, columns, row);
  REMAPLAB_ASSIGN(insert.one_, database.Prepare(sql));
  for (int i = 1; i < kRowsPerStatement; ++i) {
    sql.append(1, ',').append(row);
  }
  REMAPLAB_ASSIGN(insert.many_, database.Prepare(sql));
  return insert;
}

template <typename T>
Status BulkInsert::AddRow(std::span<const T> row) {
  buffer_.insert(buffer_.end(), row.begin(), row.end());
  if (++pending_ < kRowsPerStatement) {
    return {};
  }
  int parameter = 0;
  for (const std::optional<int64_t>& value : buffer_) {
    many_.Bind(++parameter, value);
  }
  buffer_.clear();
  pending_ = 0;
  return many_.Run();
}

Status BulkInsert::Add(std::span<const std::optional<int64_t>> row) { return AddRow(row); }
Status BulkInsert::Add(std::span<const int64_t> row) { return AddRow(row); }

Status BulkInsert::Finish() {
  // Emptied first, so that rows of a transaction that fails do not turn up in the next one.
  const std::vector<std::optional<int64_t>> rows = std::exchange(buffer_, {});
  pending_ = 0;
  int parameter = 0;
  for (const std::optional<int64_t>& value : rows) {
    one_.Bind(++parameter, value);
    if (parameter == columns_) {
      REMAPLAB_TRY(one_.Run());
      parameter = 0;
    }
  }
  return {};
}

}  // namespace remaplab
