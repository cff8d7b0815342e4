// What a driver generation does when it is asked for something it should not be: one verdict per misuse. The cells,
// with their sources, are written down in docs/driver-profiles.md; what has no source is kUnknown, never a guess.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "base/result.h"

namespace remaplab {

// In the order of docs/driver-profiles.md.
enum class Misuse : uint8_t {
  kReserveSize,             // 0, or no multiple of the granularity
  kReserveAlignment,        // no power of two
  kReserveLargeAlignment,   // a power of two above the granularity
  kReserveUnevenAlignment,  // a power of two below the granularity
  kCreateZero,              // size 0
  kCreateDevice,            // no such device
  kCreateOddSize,           // no multiple of 2048
  kCreateUnalignedSize,     // a multiple of 2048 but not of the granularity
  kMapNull,                 // no address, no handle, or size 0
  kMapOutside,              // not in any reservation
  kMapPastEnd,              // begins in a reservation and ends behind it
  kMapOverlap,              // over something mapped
  kMapLargerThanHandle,
  kMapPrefix,          // less than the handle; legal by the documents
  kMapUnaligned,       // address or size no multiple of the granularity
  kMapReleased,        // the handle's memory is gone
  kMapReleasedAlive,   // the handle was released, its memory lives in another mapping
  kAccessNull,         // no address or size 0
  kAccessDevice,       // no such device
  kAccessUnmapped,     // nothing mapped there
  kAccessPartOfChunk,  // ends or begins inside a mapping
  kAccessHole,         // mapped with a hole in between
  kAccessHoleAtEnd,    // mapped at first, then not
  kAccessTail,         // whole mappings, but not from the reservation's first one; legal by the documents
  kAccessPartForPeer,  // whole mappings, but not all of the reservation, for a device that is not the owner
  kUnmapNull,          // no address
  kUnmapZero,          // size 0
  kUnmapUnmapped,      // never mapped, or unmapped already
  kUnmapPart,          // part of one mapping, from its beginning
  kUnmapInside,        // begins inside a mapping
  kUnmapSeveral,       // several whole neighbouring mappings
  kUnmapHole,          // whole mappings with a hole in between or at the end
  kFreeNull,           // no address or size 0
  kFreeWrongSize,
  kFreeMapped,   // something is still mapped in it
  kFreeUnknown,  // no reservation begins there
  kReleaseNull,
  kReleaseMapped,  // legal: the memory lives until its last unmap
  kReleaseTwice,
};
inline constexpr size_t kMisuseCount = 39;
std::string_view Name(Misuse misuse);  // "map_overlap", ...

enum class VerdictKind : uint8_t {
  kDoes,     // success, and done
  kSilent,   // success, and not done
  kRefuses,  // the error `code`
  kCrashes,  // the process dies, or bookkeeping is corrupt from here on
  kUnknown,  // no source says
};

// What else happens.
enum class Effect : uint8_t {
  kNone,
  kLeaksReference,  // the handle's memory is never given back
  kForgets,         // the runtime loses its record of the object while the driver underneath keeps it
  kWholeChunk,      // done, but to whole mappings
  kCoveredOnly,     // done, but only to the mappings that lie wholly inside
};

struct DriverVerdict {
  VerdictKind kind = VerdictKind::kUnknown;
  uint16_t code = 0;  // kRefuses: the driver's error number; 0 when only "an error" is known
  Effect effect = Effect::kNone;

  friend bool operator==(const DriverVerdict&, const DriverVerdict&) = default;
};

// What a call waits for by itself before it acts.
enum class SyncModel : uint8_t {
  kNone,        // nothing: the caller's duty
  kNullStream,  // the owner's blocking streams; the simulated stream is one
  kAllStreams,  // all streams of all devices that have access
};
std::string_view Name(SyncModel model);  // "none", "null-stream", "all-streams-of-devices-with-access"

struct DriverProfile {
  std::string_view name;
  std::string_view description;
  bool hip = true;  // error numbers are hipError_t; otherwise CUresult
  uint64_t minimum_granularity = 0;
  uint64_t recommended_granularity = 0;
  bool multi_mapping_unmap = true;
  bool sub_range_mapping = true;
  Capabilities::PartialAccess partial_access = Capabilities::PartialAccess::kAny;
  SyncModel map_sync = SyncModel::kNone;
  SyncModel unmap_sync = SyncModel::kNone;

  DriverVerdict On(Misuse misuse) const;
};

std::span<const DriverProfile> DriverProfiles();
// Error kUsage with the known names.
Result<const DriverProfile*> FindDriverProfile(std::string_view name);

// "hipErrorInvalidValue (1)", "CUDA_ERROR_INVALID_VALUE (1)"; for 0 "an error of unknown number".
std::string DriverErrorName(bool hip, uint16_t code);

}  // namespace remaplab
