// The SQLite form of an Nsight Systems report (`nsys export --type sqlite`; hip-vmm.md 5.6). Its tables are made as
// needed: one that is not there means that nothing of the kind was recorded. Calls have no arguments; sizes and devices
// are joined from the activities that calls caused.
#pragma once

#include "base/result.h"
#include "traces/call_recording.h"
#include "traces/importers/calls/foreign_database.h"

namespace remaplab::calls {

bool LooksLikeNsys(const ForeignDatabase& database);

// Errors kInput: no calls were recorded, tables or columns missing, times that mean nothing, damage.
Result<CallRecording> ImportNsys(const ForeignDatabase& database);

}  // namespace remaplab::calls
