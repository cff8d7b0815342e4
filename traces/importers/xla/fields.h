// The numbers in log messages: what follows the words that Classify told a message by. Each function says whether the
// message is whole; of a damaged one nothing is believed. The scanner is left behind what was read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/importers/xla/address_table.h"
#include "traces/importers/xla/scanner.h"

namespace remaplab::xla {

// Allocated ..., Reusing ..., Queueing ..., Actually freeing ...
struct MemoryFields {
  uint64_t address = 0;
  uint64_t size = 0;  // as asked for
  int32_t device = 0;
};
bool ReadAllocated(Scanner& scan, MemoryFields& fields);
bool ReadReused(Scanner& scan, MemoryFields& fields);
bool ReadFreed(Scanner& scan, MemoryFields& fields);

// Start calling RunAsync for M, device=..., run_id=N
struct RunFields {
  std::string_view module;
  int32_t device = -1;  // the number at the end of the device's name; -1 when there is none
};
bool ReadRunStart(Scanner& scan, RunFields& fields);

// Buffer allocations changed address between module M executions: [225:parameter, 1023:temp]
struct ChangedFields {
  std::string_view module;
  bool cut = false;  // the closing bracket is missing; what comes before the cut is in `indexes`
};
bool ReadChanged(Scanner& scan, ChangedFields& fields, std::vector<uint32_t>& indexes);

// Initialized / Recorded / Updated command buffer ... in N us; num_commands=K
struct CommandBufferFields {
  int64_t ns = 0;
  uint32_t commands = 0;
};
bool ReadCommandBuffer(Scanner& scan, CommandBufferFields& fields);

// VA remapping: Reserved single VA range ... / reserved range ...
struct ReservedFields {
  uint64_t address = 0;
  uint64_t size = 0;
};
bool ReadReserved(Scanner& scan, ReservedFields& fields);

// Mapping allocation I physical: P -> VA: P (offset: N) size: N; the address is the allocator's.
bool ReadMapping(Scanner& scan, TableEntry& entry);

// Remap timing: slices=N changed=N range=N unmap_us=N map_us=N setaccess_us=N
struct RemapTimingFields {
  uint64_t slices = 0;
  uint64_t changed = 0;
  int64_t unmap_ns = 0;
  int64_t map_ns = 0;
  int64_t set_access_ns = 0;
};
bool ReadRemapTiming(Scanner& scan, RemapTimingFields& fields);

// VA remapping timing: sync_us=N remap_us=N
struct SyncTimingFields {
  int64_t sync_ns = 0;
  int64_t remap_ns = 0;
};
bool ReadSyncTiming(Scanner& scan, SyncTimingFields& fields);

}  // namespace remaplab::xla
