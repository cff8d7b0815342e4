// An SQLite file that somebody else wrote, read without trusting it: read-only, nothing is left beside it, its schema
// runs no functions, only plain tables are read. Any bytes give an answer or an error, never a crash.
//
// For importers only; the results store has its own access (analysis/).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace remaplab::calls {

// Whether a file's first bytes are SQLite's.
bool IsSqlite(std::string_view head);

class ForeignDatabase {
 public:
  // A running query. Must not outlive its database; columns count from 0.
  class Rows {
   public:
    Result<bool> Next();  // false: no more. Error kInput: the file is damaged, or holds too large a value
    std::optional<int64_t> Int(int column) const;  // nullopt: null or no integer
    std::string_view Text(int column) const;       // until Next; null reads as empty

   private:
    friend class ForeignDatabase;
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const;
    };
    Rows(const ForeignDatabase* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
    const ForeignDatabase* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  };

  // Errors kIo (not there, locked), kInput (damaged, no SQLite file); messages begin with the path.
  static Result<ForeignDatabase> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& tables() const { return tables_; }  // ordinary ones, by name
  bool HasTable(std::string_view name) const;

  // Error kInput naming the table and what is missing of it.
  Status Require(std::string_view table, const std::vector<std::string_view>& columns) const;
  Result<std::vector<std::string>> Columns(std::string_view table) const;

  // Statements only ever name tables that Require has seen.
  Result<Rows> Query(const std::string& sql) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  ForeignDatabase(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  Error LastError() const;
  Status ReadTables();

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::vector<std::string> tables_;
};

// A name as SQL takes it: in double quotes.
std::string Quoted(std::string_view name);

}  // namespace remaplab::calls
