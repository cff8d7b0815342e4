#include "analysis/query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "analysis/sqlite.h"

namespace remaplab {
namespace {

constexpr std::array<std::string_view, 12> kViews = {
    "v_run",      "v_step",    "v_step_call", "v_call",       "v_call_counts", "v_compare",
    "v_residual", "v_verdict", "v_fault",     "v_diagnostic", "regions",       "memory_allocations"};

bool IsIdentifier(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                              std::string_view::npos;
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n;") == std::string_view::npos; }

// What a statement may do; anything else is denied while it is being prepared.
int AllowReading(void*, int action, const char*, const char*, const char*, const char*) {
  constexpr std::array<int, 5> kAllowed = {SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE,
                                           SQLITE_PRAGMA};
  return std::find(kAllowed.begin(), kAllowed.end(), action) != kAllowed.end() ? SQLITE_OK : SQLITE_DENY;
}

Result<Statement> PrepareReading(Database& database, std::string_view sql) {
  std::string_view rest;
  sqlite3_set_authorizer(database.handle(), AllowReading, nullptr);
  Result<Statement> statement = database.Prepare(sql, &rest);
  const bool denied = !statement && (sqlite3_errcode(database.handle()) & 0xff) == SQLITE_AUTH;
  sqlite3_set_authorizer(database.handle(), nullptr, nullptr);
  if (denied || (statement && !statement->read_only())) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: a query only reads; this statement would not", database.path()));
  }
  if (statement && !IsBlank(rest)) {
    return Fail(ErrorCode::kUsage, "a query is one statement; there is more after it");
  }
  return statement;
}

QueryValue Value(const Statement& statement, int column) {
  if (statement.IsNull(column)) {
    return {};
  }
  if (statement.IsInteger(column)) {
    return statement.Int(column);
  }
  if (statement.IsReal(column)) {
    return statement.Double(column);
  }
  return std::string(statement.Text(column));
}

}  // namespace

std::span<const std::string_view> PromisedViews() { return kViews; }

Status RunQuery(Store& store, std::string_view text, const QueryVisitor& visitor) {
  const std::string sql = IsIdentifier(text) ? fmt::format("SELECT * FROM {}", text) : std::string(text);
  REMAPLAB_ASSIGN(Statement statement, PrepareReading(store.database(), sql));
  std::vector<std::string> columns;
  for (int i = 0; i < statement.columns(); ++i) {
    columns.emplace_back(statement.ColumnName(i));
  }
  REMAPLAB_TRY(visitor.on_columns(std::move(columns)));
  std::vector<QueryValue> row(static_cast<size_t>(statement.columns()));
  while (true) {
    REMAPLAB_ASSIGN(const bool has_row, statement.Step());
    if (!has_row) {
      return {};
    }
    for (int i = 0; i < statement.columns(); ++i) {
      row[static_cast<size_t>(i)] = Value(statement, i);
    }
    REMAPLAB_TRY(visitor.on_row(row));
  }
}

}  // namespace remaplab
