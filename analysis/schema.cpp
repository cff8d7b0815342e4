#include "analysis/schema.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/version.h"
#include "schema_files.h"

namespace remaplab {
namespace {

// Offsets from SQLite's file format document.
constexpr size_t kHeaderBytes = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);

uint64_t BigEndian(const unsigned char* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value = value << 8 | at[i];
  }
  return value;
}

Status CheckLength(const std::string& path, const unsigned char* header, uint64_t size) {
  const uint64_t raw_page_size = BigEndian(header + 16, 2);
  const uint64_t page_size = raw_page_size == 1 ? 65536 : raw_page_size;
  const uint64_t pages = BigEndian(header + 28, 4);
  const bool page_count_is_current = BigEndian(header + 24, 4) == BigEndian(header + 92, 4);
  // With a write-ahead log beside it the file may rightly be shorter than it says.
  std::error_code ignored;
  if (page_count_is_current && size < pages * page_size && !std::filesystem::exists(path + "-wal", ignored)) {
    return Fail(ErrorCode::kInput, fmt::format("{}: is truncated: {} bytes of {}", path, size, pages * page_size));
  }
  return {};
}

Status ApplyVersion(Database& database, int64_t version, std::string_view sql) {
  REMAPLAB_ASSIGN(Transaction transaction, Transaction::Begin(database));
  // Another process may have been faster.
  REMAPLAB_ASSIGN(const int64_t current, database.QueryInt("PRAGMA user_version"));
  if (current >= version) {
    return {};
  }
  REMAPLAB_TRY(database.Execute(sql));
  REMAPLAB_TRY(database.Execute(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  REMAPLAB_TRY(database.Execute(fmt::format("PRAGMA user_version = {}", version)));
  REMAPLAB_ASSIGN(Statement meta, database.Prepare("INSERT OR REPLACE INTO meta (tag, value) VALUES (?, ?)"));
  REMAPLAB_TRY(meta.Bind(1, "schema_version").Bind(2, std::to_string(version)).Run());
  REMAPLAB_TRY(meta.Bind(1, "tool").Bind(2, fmt::format("remaplab {}", build_info().version)).Run());
  REMAPLAB_TRY(meta.Bind(1, "git_revision").Bind(2, build_info().git_revision).Run());
  return transaction.Commit();
}

}  // namespace

int64_t NewestSchemaVersion() { return static_cast<int64_t>(schema_files().size()); }

Status CheckFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Fail(ErrorCode::kIo, fmt::format("{}: is a directory", path));
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  std::array<unsigned char, kHeaderBytes> header{};
  const size_t got = std::fread(header.data(), 1, header.size(), file.get());
  const uint64_t size = std::filesystem::file_size(path, error);
  if (got == 0) {
    return Fail(ErrorCode::kInput, fmt::format("{}: is empty: no run has been stored in it", path));
  }
  if (std::memcmp(header.data(), kMagic.data(), std::min(got, kMagic.size())) != 0) {
    return Fail(ErrorCode::kInput, fmt::format("{}: is not an SQLite file", path));
  }
  if (got < kHeaderBytes) {
    return Fail(ErrorCode::kInput, fmt::format("{}: is truncated: {} bytes", path, got));
  }
  return CheckLength(path, header.data(), size);
}

Result<int64_t> ReadSchemaVersion(Database& database) {
  REMAPLAB_ASSIGN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  REMAPLAB_ASSIGN(const int64_t application, database.QueryInt("PRAGMA application_id"));
  REMAPLAB_ASSIGN(const int64_t objects, database.QueryInt("SELECT count(*) FROM sqlite_schema"));
  if (application != kApplicationId && (objects > 0 || application != 0 || version != 0)) {
    return Fail(ErrorCode::kInput,
                fmt::format("{}: is an SQLite file of another program (application id 0x{:08x}, ours is 0x{:08x})",
                            database.path(), application, kApplicationId));
  }
  if (version > NewestSchemaVersion()) {
    return Fail(ErrorCode::kInput, fmt::format("{}: has schema version {}, this remaplab knows versions up to {}",
                                               database.path(), version, NewestSchemaVersion()));
  }
  return version;
}

Status Migrate(Database& database) {
  REMAPLAB_ASSIGN(int64_t version, ReadSchemaVersion(database));
  for (const EmbeddedFile& file : schema_files().subspan(static_cast<size_t>(version))) {
    REMAPLAB_TRY(ApplyVersion(database, ++version, file.text));
  }
  return {};
}

Status CopyDatabase(Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) {
    return Fail(to.LastError("copying"));
  }
  constexpr int kAllPages = -1;
  const int rc = sqlite3_backup_step(backup, kAllPages);
  sqlite3_backup_finish(backup);
  if (rc != SQLITE_DONE) {
    return Fail(from.LastError("copying"));
  }
  return {};
}

Status QuickCheck(Database& database) {
  REMAPLAB_ASSIGN(const std::string verdict, database.QueryText("PRAGMA quick_check(1)"));
  if (verdict != "ok") {
    return Fail(ErrorCode::kInput, fmt::format("{}: is damaged ({})", database.path(), verdict));
  }
  return {};
}

}  // namespace remaplab
