// The store's file identity and its versions. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/sqlite.h"
#include "base/result.h"

namespace remaplab {

// Marks the file as ours in its header, where file(1) and SQLite see it: "rmap".
inline constexpr int64_t kApplicationId = 0x726d6170;

// The newest version that this binary knows: the number of files in analysis/schema.
int64_t NewestSchemaVersion();

// What the file's header says, before SQLite touches it: kInput with the reason when it is no store (empty, foreign,
// truncated), kIo when it cannot be read.
Status CheckFile(const std::string& path);

// Whose file it is and which version: refuses foreign files and newer versions, with both numbers.
Result<int64_t> ReadSchemaVersion(Database& database);

// Brings the database to the newest version, each step in one transaction. A new file starts at version 0.
Status Migrate(Database& database);

// Copies everything from one connection into another, empty one.
Status CopyDatabase(Database& from, Database& to);

// SQLite's own check of the file's structure; kInput with the first finding.
Status QuickCheck(Database& database);

}  // namespace remaplab
