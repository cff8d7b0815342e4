// rocpd: the SQLite database that rocprofv3 writes (by default since ROCm 7.0). Schema 3, whose tables carry a suffix
// made of a uuid; one file may hold several sets of tables, and one table rows of several guids (hip-vmm.md 5.3).
#pragma once

#include "base/result.h"
#include "traces/call_recording.h"
#include "traces/importers/calls/foreign_database.h"

namespace remaplab::calls {

inline constexpr int64_t kRocpdSchema = 3;

bool LooksLikeRocpd(const ForeignDatabase& database);

// Errors kInput: another schema (both numbers are named), tables or columns missing, times that mean nothing, damage.
Result<CallRecording> ImportRocpd(const ForeignDatabase& database);

}  // namespace remaplab::calls
