// Which of the messages that XLA prints a log message is (xla-capture.md sections 2 and 4; docs/importers.md has the
// list). Told by its first words alone: file names and line numbers move from version to version.
#pragma once

#include <cstdint>
#include <string_view>

namespace remaplab::xla {

enum class Message : uint8_t {
  kOther,
  kTable,         // Buffer allocations: Buffer 0 -> ...
  kChanged,       // Buffer allocations changed address between module M executions: [...]
  kAllocated,     // Allocated virtual address P (NB) on device ordinal D
  kFreed,         // Queueing deferred deallocation for virtual address P (size=NB) on device ordinal D
  kReused,        // Reusing pending deallocation: address=P original_size=NB new_size=NB rounded_size=NB device=D
  kCompleted,     // Actually freeing virtual address P (size=NB) on device ordinal D
  kRunStart,      // Start calling RunAsync for M, device=..., run_id=N
  kRunEnd,        // Finish calling RunAsync for M, ...
  kPrepared,      // Prepared GPU executable module: M for execution: ...
  kExecuteStart,  // Start GpuExecutable::ExecuteOnStream module: M
  kExecuteEnd,    // End GpuExecutable::ExecuteOnStream module: M
  kExecuteTime,   // GpuExecutable::ExecuteAsyncOnStreamImpl(M) time: ...
  kCaptured,      // Initialized command buffer on device #D in N us; num_commands=K, or: Recorded command buffer in ...
  kUpdated,       // Updated command buffer in N us; num_commands=K
  kRemapModule,   // VA remapping: module M ...
  kReserved,      // VA remapping: Reserved single VA range for module M VA: P total_size: N granularity: N
  kReservedRange,   // VA remapping: reserved range for module M VA=P total_size=N granularity=N
  kMapping,         // Mapping allocation I physical: P -> VA: P (offset: N) size: N
  kMappedAlias,     // VA remapping: Mapped allocation I for module M from P to P size=N
  kCopied,          // VA remapping: copied N small slices to shadow (threshold=N B)
  kCopyProtection,  // Using copy-protection: ...
  kRemapTiming,     // Remap timing: slices=N changed=N range=N unmap_us=N map_us=N setaccess_us=N
  kSyncTiming,      // VA remapping timing: sync_us=N remap_us=N
  kAllocator,       // Using BFC allocator.  Using VMM ...
  kClient,          // DeviceAddressVmmAllocator: registering device D with pa_budget N
  kBuilt,           // ... collected ... allocation ind(ices|exes) ... for module M
  kStep,            // completed step: N, seconds: ...
};

// `rest` gets what follows the words that told the message.
Message Classify(std::string_view message, std::string_view& rest);

}  // namespace remaplab::xla
