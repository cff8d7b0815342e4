#include "backends/sim/driver_profile.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace remaplab {
namespace {

constexpr DriverVerdict kDoes{VerdictKind::kDoes};
constexpr DriverVerdict kSilent{VerdictKind::kSilent};
constexpr DriverVerdict kCrash{VerdictKind::kCrashes};
constexpr DriverVerdict kNobodyKnows{VerdictKind::kUnknown};
constexpr DriverVerdict kError{VerdictKind::kRefuses};
constexpr DriverVerdict Code(uint16_t code) { return {VerdictKind::kRefuses, code}; }
constexpr DriverVerdict With(DriverVerdict verdict, Effect effect) {
  verdict.effect = effect;
  return verdict;
}
constexpr DriverVerdict kSilentLeak = With(kSilent, Effect::kLeaksReference);
constexpr DriverVerdict kSilentForget = With(kSilent, Effect::kForgets);
constexpr DriverVerdict kWholeChunk = With(kDoes, Effect::kWholeChunk);
constexpr DriverVerdict kCovered = With(kDoes, Effect::kCoveredOnly);
constexpr DriverVerdict k999Forget = With(Code(999), Effect::kForgets);

struct Row {
  Misuse misuse;
  std::string_view name;
  std::array<DriverVerdict, 6> by_profile;  // in the order of kProfiles
};

// clang-format off
constexpr std::array<Row, kMisuseCount> kRows = {{
    //                                                                cuda          cuda-580       rocm-6.1       rocm-6.2       rocm-7.1       rocm-dev
    {Misuse::kReserveSize,            "reserve_size",             {Code(1),       Code(1),       kNobodyKnows,  Code(2),       Code(1),       Code(1)}},
    {Misuse::kReserveAlignment,       "reserve_alignment",        {Code(1),       Code(1),       kNobodyKnows,  Code(2),       Code(1),       Code(1)}},
    {Misuse::kReserveLargeAlignment,  "reserve_large_alignment",  {kDoes,         kDoes,         kNobodyKnows,  kSilent,       kNobodyKnows,  kNobodyKnows}},
    {Misuse::kReserveUnevenAlignment, "reserve_uneven_alignment", {kDoes,         kDoes,         kError,        kDoes,         kDoes,         kDoes}},
    {Misuse::kCreateZero,             "create_zero",              {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kCreateDevice,           "create_device",            {Code(101),     Code(101),     Code(1),       Code(1),       Code(101),     Code(101)}},
    {Misuse::kCreateOddSize,          "create_odd_size",          {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kCreateUnalignedSize,    "create_unaligned_size",    {Code(1),       Code(1),       kNobodyKnows,  Code(2),       Code(2),       Code(2)}},
    {Misuse::kMapNull,                "map_null",                 {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kMapOutside,             "map_outside",              {Code(1),       Code(1),       kNobodyKnows,  kSilent,       kSilent,       kError}},
    {Misuse::kMapPastEnd,             "map_past_end",             {Code(1),       kDoes,         kDoes,         kCrash,        kCrash,        kError}},
    {Misuse::kMapOverlap,             "map_overlap",              {Code(1),       Code(1),       kNobodyKnows,  kSilentLeak,   kSilentLeak,   kError}},
    {Misuse::kMapLargerThanHandle,    "map_larger_than_handle",   {Code(1),       Code(801),     kNobodyKnows,  kNobodyKnows,  kNobodyKnows,  kNobodyKnows}},
    {Misuse::kMapPrefix,              "map_prefix",               {kDoes,         Code(801),     kNobodyKnows,  kDoes,         kDoes,         kDoes}},
    {Misuse::kMapUnaligned,           "map_unaligned",            {Code(1),       Code(1),       kNobodyKnows,  kSilent,       kSilent,       Code(1)}},
    {Misuse::kMapReleased,            "map_released",             {Code(1),       kCrash,        kCrash,        kCrash,        kCrash,        kCrash}},
    {Misuse::kMapReleasedAlive,       "map_released_alive",       {Code(1),       kDoes,         kCrash,        kCrash,        kCrash,        kCrash}},
    {Misuse::kAccessNull,             "access_null",              {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kAccessDevice,           "access_device",            {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kAccessUnmapped,         "access_unmapped",          {Code(1),       Code(1),       kNobodyKnows,  Code(1),       Code(1),       Code(1)}},
    {Misuse::kAccessPartOfChunk,      "access_part_of_chunk",     {Code(1),       Code(1),       kNobodyKnows,  kWholeChunk,   Code(1),       Code(1)}},
    {Misuse::kAccessHole,             "access_hole",              {Code(1),       kCovered,      kNobodyKnows,  Code(1),       Code(1),       Code(1)}},
    {Misuse::kAccessHoleAtEnd,        "access_hole_at_end",       {Code(1),       Code(1),       kNobodyKnows,  Code(1),       Code(1),       Code(1)}},
    {Misuse::kAccessTail,             "access_tail",              {kDoes,         kDoes,         kNobodyKnows,  kDoes,         kNobodyKnows,  kDoes}},
    {Misuse::kAccessPartForPeer,      "access_part_for_peer",     {kDoes,         kNobodyKnows,  kNobodyKnows,  Code(1),       Code(1),       Code(1)}},
    {Misuse::kUnmapNull,              "unmap_null",               {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kUnmapZero,              "unmap_zero",               {Code(1),       Code(1),       kNobodyKnows,  Code(1),       Code(1),       Code(1)}},
    {Misuse::kUnmapUnmapped,          "unmap_unmapped",           {Code(1),       kCovered,      kNobodyKnows,  kCrash,        Code(1),       Code(1)}},
    {Misuse::kUnmapPart,              "unmap_part",               {Code(1),       kCovered,      kDoes,         kSilentForget, Code(1),       Code(1)}},
    {Misuse::kUnmapInside,            "unmap_inside",             {Code(1),       kCovered,      kDoes,         kSilentForget, Code(1),       Code(1)}},
    {Misuse::kUnmapSeveral,           "unmap_several",            {kDoes,         kDoes,         kNobodyKnows,  kSilentForget, kDoes,         kDoes}},
    {Misuse::kUnmapHole,              "unmap_hole",               {Code(1),       kCovered,      kNobodyKnows,  kSilentForget, Code(1),       Code(1)}},
    {Misuse::kFreeNull,               "free_null",                {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kFreeWrongSize,          "free_wrong_size",          {Code(1),       Code(1),       kNobodyKnows,  kDoes,         kDoes,         kDoes}},
    {Misuse::kFreeMapped,             "free_mapped",              {Code(1),       Code(1),       kNobodyKnows,  kSilentForget, k999Forget,    k999Forget}},
    {Misuse::kFreeUnknown,            "free_unknown",             {Code(1),       Code(1),       kNobodyKnows,  kCrash,        kCrash,        Code(1)}},
    {Misuse::kReleaseNull,            "release_null",             {Code(1),       Code(1),       Code(1),       Code(1),       Code(1),       Code(1)}},
    {Misuse::kReleaseMapped,          "release_mapped",           {kDoes,         kDoes,         kDoes,         kDoes,         kDoes,         kDoes}},
    {Misuse::kReleaseTwice,           "release_twice",            {Code(1),       Code(1),       kCrash,        kCrash,        kCrash,        kCrash}},
}};
// clang-format on

constexpr bool InOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].misuse != static_cast<Misuse>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(InOrder());

constexpr uint64_t k4KiB = 4096;
constexpr uint64_t k2MiB = uint64_t{2} << 20;
using Partial = Capabilities::PartialAccess;

constexpr std::array<DriverProfile, 6> kProfiles = {{
    {.name = "cuda",
     .description = "CUDA driver API as documented: strict, no call waits for the device",
     .hip = false,
     .minimum_granularity = k2MiB,
     .recommended_granularity = k2MiB},
    {.name = "cuda-580",
     .description = "what CUDA driver 580.159.04 on an H200 was seen to do: laxer than its documents",
     .hip = false,
     .minimum_granularity = k2MiB,
     .recommended_granularity = k2MiB,
     .partial_access = Partial::kOwnerOnly},  // with one device, nobody saw peers
    {.name = "rocm-6.1",
     .description = "first real HIP VMM: map and unmap act on the whole reservation",
     .minimum_granularity = k4KiB,
     .recommended_granularity = k4KiB,
     .multi_mapping_unmap = false,
     .sub_range_mapping = false,
     .partial_access = Partial::kNone,
     .map_sync = SyncModel::kNullStream,
     .unmap_sync = SyncModel::kNullStream},
    {.name = "rocm-6.2",
     .description = "sub-range mapping; many failures are reported as success; one mapping per unmap",
     .minimum_granularity = k4KiB,
     .recommended_granularity = k4KiB,
     .multi_mapping_unmap = false,
     .partial_access = Partial::kOwnerOnly,
     .map_sync = SyncModel::kNullStream,
     .unmap_sync = SyncModel::kNullStream},
    {.name = "rocm-7.1",
     .description = "unmap of several mappings works; set access of a part fails now and then",
     .minimum_granularity = k4KiB,
     .recommended_granularity = k4KiB,
     .partial_access = Partial::kNone,
     .map_sync = SyncModel::kNullStream,
     .unmap_sync = SyncModel::kNullStream},
    {.name = "rocm-dev",
     .description = "2026 development line: errors are reported; unmap waits for all devices with access",
     .minimum_granularity = k4KiB,
     .recommended_granularity = k2MiB,
     .partial_access = Partial::kOwnerOnly,
     .unmap_sync = SyncModel::kAllStreams},
}};

struct ErrorNumber {
  uint16_t code;
  std::string_view hip;
  std::string_view cuda;
};
constexpr std::array<ErrorNumber, 6> kErrorNumbers = {{
    {1, "hipErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE"},
    {2, "hipErrorOutOfMemory", "CUDA_ERROR_OUT_OF_MEMORY"},
    {101, "hipErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE"},
    {400, "hipErrorInvalidHandle", "CUDA_ERROR_INVALID_HANDLE"},
    {801, "hipErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED"},
    {999, "hipErrorUnknown", "CUDA_ERROR_UNKNOWN"},
}};

}  // namespace

std::string_view Name(Misuse misuse) { return kRows[static_cast<size_t>(misuse)].name; }

std::string_view Name(SyncModel model) {
  switch (model) {
    case SyncModel::kNone:
      return "none";
    case SyncModel::kNullStream:
      return "null-stream";
    case SyncModel::kAllStreams:
      return "all-streams-of-devices-with-access";
  }
  return "none";
}

DriverVerdict DriverProfile::On(Misuse misuse) const {
  for (size_t i = 0; i < kProfiles.size(); ++i) {
    if (kProfiles[i].name == name) {
      return kRows[static_cast<size_t>(misuse)].by_profile[i];
    }
  }
  return {};
}

std::span<const DriverProfile> DriverProfiles() { return kProfiles; }

Result<const DriverProfile*> FindDriverProfile(std::string_view name) {
  std::vector<std::string_view> names;
  for (const DriverProfile& profile : kProfiles) {
    if (profile.name == name) {
      return &profile;
    }
    names.push_back(profile.name);
  }
  return Fail(ErrorCode::kUsage, fmt::format("unknown driver profile '{}' ({})", name, fmt::join(names, ", ")));
}

std::string DriverErrorName(bool hip, uint16_t code) {
  for (const ErrorNumber& number : kErrorNumbers) {
    if (number.code == code) {
      return fmt::format("{} ({})", hip ? number.hip : number.cuda, code);
    }
  }
  return code == 0 ? "an error of unknown number" : fmt::format("error {}", code);
}

}  // namespace remaplab
