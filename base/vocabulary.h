// Words that traces, engine, backends and reports all use, each with its one spelling in files and JSON.
// The words are those of definitions.md and remap-semantics.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace remaplab {

// What a driver or runtime call is for. One list for JSON, the store, cost profiles and fault injection; the order is
// the order in which reports print them.
enum class CallKind : uint8_t {
  kReserve,      // reserve an address range
  kAddressFree,  // give an address range back
  kCreate,       // create physical memory (the allocator's work, never part of a step's calls)
  kRelease,      // give physical memory back (likewise)
  kMap,          // map one backing at one slot's place
  kUnmap,        // unmap one or several neighbouring mappings
  kSetAccess,    // grant one device access to a range
  kWait,         // the CPU waits for an event
  kRecord,       // record an event after the work enqueued so far
  kShadowAlloc,  // allocate a shadow buffer
  kShadowFree,
  kCopy,     // one small device-to-device copy, stream ordered
  kCapture,  // build a command buffer with addresses baked in
  kUpdate,   // change addresses in a command buffer in place
  kLaunch,   // launch a command buffer, or the step's thunks without one
};
inline constexpr size_t kCallKindCount = 15;
inline constexpr std::array<std::string_view, kCallKindCount> kCallKindNames = {
    "reserve", "address_free", "create",      "release", "map",     "unmap",  "set_access", "wait",
    "record",  "shadow_alloc", "shadow_free", "copy",    "capture", "update", "launch"};

constexpr std::string_view Name(CallKind kind) { return kCallKindNames[static_cast<size_t>(kind)]; }
std::optional<CallKind> ParseCallKind(std::string_view name);

enum class SlotKind : uint8_t { kUnknown, kParameter, kOutput, kTemp };
std::string_view Name(SlotKind kind);  // "unknown", "parameter", "output", "temp"
std::optional<SlotKind> ParseSlotKind(std::string_view name);

// How the command buffer touches a slot. Unknown is handled as both (semantics, rule 12).
enum class Access : uint8_t { kUnknown, kRead, kWrite, kBoth };
std::string_view Name(Access access);  // "unknown", "read", "write", "both"
std::optional<Access> ParseAccess(std::string_view name);

enum class Tristate : uint8_t { kUnknown, kNo, kYes };
std::string_view Name(Tristate value);  // "unknown", "no", "yes"
std::optional<Tristate> ParseTristate(std::string_view name);

}  // namespace remaplab
