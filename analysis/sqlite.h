// A thin hold on SQLite's C API: connections, statements and transactions that close themselves, errors as values.
// For this folder only; everybody else sees Store.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace remaplab {

class Database;

// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& Bind(int parameter, int64_t value);
  Statement& Bind(int parameter, std::string_view value);  // copied
  Statement& Bind(int parameter, std::optional<int64_t> value);
  Statement& BindDouble(int parameter, double value);
  Statement& BindNull(int parameter);
  // The other statement's current value, whatever its type.
  Statement& BindColumn(int parameter, const Statement& from, int column);

  // True: a row is there to be read. False: done, and ready to be bound and stepped again.
  Result<bool> Step();
  // For statements without rows: steps to the end.
  Status Run();
  void Reset();

  int columns() const;
  std::string_view ColumnName(int column) const;
  bool IsNull(int column) const;
  bool IsInteger(int column) const;
  bool IsReal(int column) const;
  int64_t Int(int column) const;  // null reads as 0
  std::optional<int64_t> MaybeInt(int column) const;
  double Double(int column) const;
  std::string_view Text(int column) const;  // until the next Step or Reset; null reads as empty
  bool read_only() const;

 private:
  friend class Database;
  Statement(Database* database, sqlite3_stmt* handle) : database_(database), handle_(handle) {}
  Database* database_ = nullptr;
  sqlite3_stmt* handle_ = nullptr;
};

// One connection. Does not move, because statements point at it.
class Database {
 public:
  enum class Mode : uint8_t { kRead, kWrite, kTemporary };

  // kWrite creates what is missing; kTemporary is a private file that vanishes with the connection, `path` is then only
  // for messages.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, Mode mode, std::chrono::milliseconds patience);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // The first statement of `sql`; *rest is what follows it. A text without statement is an error.
  Result<Statement> Prepare(std::string_view sql, std::string_view* rest = nullptr);
  // All statements of `sql`; rows are dropped.
  Status Execute(std::string_view sql);
  // The first column of the first row; an error when there is none.
  Result<int64_t> QueryInt(std::string_view sql);
  Result<std::string> QueryText(std::string_view sql);

  int64_t last_insert_id() const;
  int64_t changes() const;
  bool read_only() const;
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }
  // What the connection's last error means, for a person; `doing` names the statement where that helps.
  Error LastError(std::string_view doing) const;

 private:
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  sqlite3* handle_;
};

// Rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

// Inserts rows of integers, many per statement, which nearly halves the time per row.
class BulkInsert {
 public:
  // `columns` is the list in parentheses without them. Call inside a transaction; Finish before it is committed.
  static Result<BulkInsert> Prepare(Database& database, std::string_view table, std::string_view columns);
  // One value per column; nullopt is null.
  Status Add(std::span<const std::optional<int64_t>> row);
  Status Add(std::span<const int64_t> row);
  Status Finish();

 private:
  static constexpr int kRowsPerStatement = 20;
  BulkInsert() = default;
  template <typename T>
  Status AddRow(std::span<const T> row);

  int columns_ = 0;
  int pending_ = 0;
  std::vector<std::optional<int64_t>> buffer_;
  Statement many_;
  Statement one_;
};

}  // namespace remaplab
